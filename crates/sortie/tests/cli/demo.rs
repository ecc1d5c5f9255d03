//! `sortie demo`: the whole library against three practice agents, as somebody sees it who has just built the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use snapbox::data::DataFormat;
use snapbox::{Data, IntoData as _};

use crate::{golden, sortie_in};

/// Nothing here takes longer unless it hangs.
const DEADLINE: Duration = Duration::from_mins(5);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A search path on which the program is.
fn path() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_sortie")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([own].into_iter().chain(std::env::split_paths(&others))).unwrap()
}

/// What is shown, with the one figure that differs from machine to machine made what it is on two cores in a release build.
fn steady(shown: &str) -> String {
    let (headline, rest) = shown.split_once('\n').unwrap();
    let (before, time) = headline.split_once(" runs in ").unwrap();
    let (seconds, after) = time.split_once(" s").unwrap();
    assert!(seconds.parse::<u64>().unwrap() > 0, "{headline}");
    format!("{before} runs in 13 s{after}\n{rest}")
}

/// As much as a picture takes: the first and the last group of the matrix, what it comes to, and the first finding.
fn cropped(shown: &str) -> String {
    let mut lines = Vec::new();
    let mut left_out = false;
    for line in shown.lines() {
        let text = anstream::adapter::strip_str(line).to_string();
        if text == "Finding 2: SRT-068 From a tool's result to another agent" {
            break;
        }
        if text.starts_with("MCP server: what its tools") {
            left_out = true;
            lines.push("⋮");
        }
        left_out &= !text.starts_with("Several protocols");
        if !left_out {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

fn runs(report: &Path) -> Vec<Value> {
    let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    let schema = serde_json::from_str(include_str!("../../../../docs/schema/run-v2.json")).unwrap();
    let errors = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = errors.iter_errors(&report).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    report["runs"].as_array().unwrap().clone()
}

/// One run of the program for all of this: it is the longest of the command line.
#[test]
fn a_first_look_comes_out_as_declared() {
    let folder = tempfile::tempdir().unwrap();
    let demo = sortie_in(folder.path())
        .args(["--color", "always", "demo", "--run-dir", "demo"])
        .env("PATH", path())
        .output()
        .unwrap();
    let shown = String::from_utf8(demo.stdout).unwrap();
    assert_eq!(
        (demo.status.code(), String::from_utf8_lossy(&demo.stderr).as_ref()),
        (Some(0), ""),
        "{shown}"
    );

    // What people see, and the picture of it in the README.
    let shown = steady(&shown);
    let plain = anstream::adapter::strip_str(&shown).to_string();
    snapbox::assert_data_eq!(plain.clone().into_data().raw(), golden("demo.txt"));
    let picture = Data::read_from(&root().join("docs/demo.svg"), Some(DataFormat::TermSvg));
    snapbox::assert_data_eq!(cropped(&shown).into_data().coerce_to(DataFormat::TermSvg), picture);

    // What machines see: every document with every agent, in order, and as declared.
    let runs = runs(&folder.path().join("demo/report.json"));
    let documents = fs::read_dir(root().join("crates/library/documents")).unwrap().flatten();
    let documents = documents.filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
    let documents =
        documents.filter(|file| file.path().extension().is_some_and(|extension| extension == "yaml"));
    assert_eq!(runs.len(), documents.count() * 3);
    let names: Vec<_> =
        runs.iter().map(|run| (run["document"]["id"].to_string(), run["agent"].to_string())).collect();
    let agents: Vec<_> = names.iter().take(3).map(|(_, agent)| agent.as_str()).collect();
    assert_eq!(agents, ["\"builtin:gullible\"", "\"builtin:refuser\"", "\"builtin:quoting-refuser\""]);
    assert!(names.chunks(3).map(|row| &row[0].0).is_sorted());
    for run in &runs {
        for key in ["result", "max_tier"] {
            assert_eq!(run["verdict"][key], run["declared"][key], "{run:#}");
        }
    }

    // The evidence is there, and says the same again.
    for run in runs.iter().step_by(16) {
        let (id, trace) = (run["document"]["id"].as_str().unwrap(), run["trace"].as_str().unwrap());
        let again = sortie_in(folder.path())
            .args(["eval", "--trace", trace, id, "--format", "json"])
            .output()
            .unwrap();
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(again["runs"][0]["verdict"], run["verdict"], "{trace}");
    }
    for run in &runs {
        let trace = folder.path().join(run["trace"].as_str().unwrap());
        assert!(trace.is_file() && trace.with_file_name("practice.jsonl").is_file(), "{}", trace.display());
    }

    // What it says to do next can be done.
    let commands = plain.lines().filter_map(|line| line.trim().strip_prefix("sortie ")).map(str::to_owned);
    let commands: Vec<_> = commands.collect();
    assert_eq!(commands.len(), 5, "{commands:?}");
    for command in commands {
        let dry = if command.starts_with("run ") { " --dry-run" } else { "" };
        let ended = Command::new("sh")
            .args(["-c", &format!("sortie {command}{dry}")])
            .current_dir(folder.path())
            .env("PATH", path())
            .output()
            .unwrap();
        assert!(ended.status.success(), "{command}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn an_interrupted_demo_shows_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["demo", "--run-dir", "demo", "--jobs", "1"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let results = folder.path().join("demo/results.jsonl");
    let start = Instant::now();
    while fs::metadata(&results).map_or(0, |file| file.len()) == 0 {
        assert!(start.elapsed() < DEADLINE, "it never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(130), "{shown}");
    let runs = runs(&folder.path().join("demo/report.json"));
    assert!((1..100).contains(&runs.len()), "{}", runs.len());
    assert!(shown.contains("not run: as declared so far\n"), "{shown}");
    assert!(shown.contains("\nFinding 1: SRT-001") && !shown.contains("\nFinding 2"), "{shown}");
}

#[test]
fn what_another_run_has_left_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("demo")).unwrap();
    fs::write(folder.path().join("demo/report.json"), "evidence").unwrap();
    let refused = sortie_in(folder.path()).args(["demo", "--run-dir", "demo"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("the folder is not empty") && said.contains("choose another folder"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("demo/report.json")).unwrap(), "evidence");
    assert!(refused.stdout.is_empty());
}

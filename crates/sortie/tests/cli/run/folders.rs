//! Where runs are kept.

use std::os::unix::fs::PermissionsExt as _;

use super::program::document;
use crate::sortie_in;

#[test]
fn a_run_gets_a_new_folder_that_git_does_not_see() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let arguments = ["run", "--max-duration", "100ms"];
        sortie_in(folder.path()).args(arguments).arg(document("simulates.yaml")).assert().code(3);
    }
    let runs = folder.path().join(".sortie/runs");
    let mut names: Vec<_> = std::fs::read_dir(&runs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    for name in &names {
        assert!(name.contains("Z-simulates"), "{name}");
        let run = runs.join(name);
        assert_eq!(std::fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o700);
        let case = std::fs::read_dir(run.join("cases")).unwrap().next().unwrap().unwrap().path();
        let of_case = ["trace.jsonl", "run.log", "mcp.json"].map(|file| case.join(file));
        let of_run = ["report.json", "run.json", "results.jsonl"].map(|file| run.join(file));
        for file in of_case.iter().chain(&of_run) {
            let mode = std::fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join(".sortie/.gitignore")).unwrap(), "*\n");
}

#[test]
fn what_another_run_has_left_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("evidence"), "").unwrap();
    let ended = sortie_in(folder.path())
        .args(["run", "--run-dir", ".", "--max-duration", "100ms"])
        .arg(document("simulates.yaml"))
        .assert()
        .code(2);
    let stderr = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(stderr.contains("not empty") && stderr.contains("choose another folder"), "{stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_kept_is_told_all_the_same() {
    let script = super::program::root().join("docs/examples/agent.sh");
    // A folder where the report should be, with something in it, is in the way as a full disk is.
    let agent = |behaviour: &str, first: &str| {
        format!("sh -c '{first}; exec {} {{mcp_url}} {behaviour}'", script.display())
    };
    let run = |agent: &str, rest: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let words = ["run", "--grace", "0s", "--run-dir", "run", "--agent", agent];
        let command = sortie_in(folder.path()).args(words).args(rest);
        let ended = command.arg(document("mcp-tool-description.yaml")).output().unwrap();
        let [out, err] =
            [&ended.stdout, &ended.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (ended.status.code(), out, err)
    };
    let spoiled = "mkdir -p run/report.json/x";
    let (code, out, err) = run(&agent("obey", spoiled), &[]);
    assert!(code == Some(1) && out.contains("1 case: 1 exploited"), "{code:?} {out}{err}");
    assert!(err.contains("error: not kept: `run/report.json`"), "{err}");
    let (code, out, err) = run(&agent("refuse", spoiled), &[]);
    assert!(code == Some(3) && out.contains("1 case: 1 not_exploited"), "{code:?} {out}{err}");
    assert!(out.contains("ended early: the report cannot be kept: `run/report.json`"), "{out}");
    let (code, out, err) =
        run(&agent("obey", "mkdir -p report.xml/x"), &["--format", "junit", "--out", "report.xml"]);
    assert!(code == Some(1) && out.is_empty() && err.contains("1 case: 1 exploited"), "{code:?} {out}{err}");
    assert!(err.contains("report.xml"), "{err}");
}

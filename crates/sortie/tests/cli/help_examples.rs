//! Every example in a `--help` is run.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{fixtures, sortie, sortie_in, stdout, tests};

/// The commands below one, as its `--help` lists them, and the commands below those.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let help = stdout(sortie().args(above).arg("--help"));
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let names = list.lines().take_while(|line| line.starts_with("  ")).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| [above, &[name.to_owned()]].concat())
    });
    names.flat_map(|command| [commands(&command), vec![command]].concat()).collect()
}

/// The lines of the Examples section that start with `$`.
fn examples(command: &[String]) -> Vec<String> {
    let help = stdout(sortie().args(command).arg("--help"));
    let (_, section) = help.split_once("\nExamples:\n").unwrap_or_default();
    let lines = section.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    lines.filter_map(|line| line.trim().strip_prefix("$ ")).map(ToOwned::to_owned).collect()
}

/// What a reader has before them: a document, a folder of documents, all with their proofs, an evaluator, a
/// recorded run, a session of a coding agent, an agent, and a server.
fn a_readers_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("attacks")).unwrap();
    fs::create_dir_all(folder.path().join("fixtures/parse/valid")).unwrap();
    for name in ["attack.yaml", "attacks/one.yaml", "attacks/two.yaml", "fixtures/parse/valid/one.yaml"] {
        fs::copy(fixtures().join("valid.yaml"), folder.path().join(name)).unwrap();
    }
    for name in ["attack", "attacks/one", "attacks/two"] {
        let proofs = folder.path().join(format!("{name}.proofs"));
        fs::create_dir(&proofs).unwrap();
        for entry in fs::read_dir(fixtures().join("valid.proofs")).unwrap().flatten() {
            fs::copy(entry.path(), proofs.join(entry.file_name())).unwrap();
        }
    }
    let evaluators = ["evaluators", "new", "refund-limit", "--output", "my-evaluators"];
    sortie_in(folder.path()).args(evaluators).assert().code(0);
    fs::copy(fixtures().join("wrapped.yaml"), folder.path().join("wrapped.yaml")).unwrap();
    let root = tests().join("../../..");
    for (from, to) in [
        ("docs/examples/notes-server.sh", "server.sh"),
        ("docs/examples/agent.sh", "agent.sh"),
        ("examples/mcp-tool-description.yaml", "calculator.yaml"),
    ] {
        fs::copy(root.join(from), folder.path().join(to)).unwrap();
    }
    fs::create_dir(folder.path().join("rules")).unwrap();
    for entry in fs::read_dir(root.join("docs/examples/rules")).unwrap().flatten() {
        fs::copy(entry.path(), folder.path().join("rules").join(entry.file_name())).unwrap();
    }
    fs::copy(fixtures().join("eval/valid.jsonl"), folder.path().join("run.jsonl")).unwrap();
    fs::create_dir(folder.path().join("recordings")).unwrap();
    fs::copy(fixtures().join("eval/valid.jsonl"), folder.path().join("recordings/run.jsonl")).unwrap();
    let session = tests().join("../../import/tests/recordings/claude-code/refuses.jsonl");
    fs::create_dir_all(folder.path().join(".claude/projects/shop")).unwrap();
    fs::copy(session, folder.path().join(".claude/projects/shop/session.jsonl")).unwrap();
    folder
}

/// What was said in a case that a server resisted.
fn a_recorded_case(folder: &Path) {
    let attack = ["run", "path-escape", "--target", "mcp=stdio:sh server.sh", "--run-dir", "cases"];
    sortie_in(folder).args(attack).assert().code(0);
    let case = folder.join("cases/cases/path-escape+parent-folders+read_note/trace.jsonl");
    fs::copy(case, folder.join("case.jsonl")).unwrap();
}

#[test]
fn every_example_in_a_help_works() {
    let commands = commands(&[]);
    assert!(commands.len() > 4, "{commands:?}");
    assert!(commands.iter().any(|command| *command == ["trace", "show"]), "{commands:?}");
    let program = Path::new(snapbox::cmd::cargo_bin!("sortie"));
    let path = std::env::join_paths(
        program
            .parent()
            .map(Path::to_path_buf)
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    for command in commands {
        let examples = examples(&command);
        let command = command.join(" ");
        assert!(!examples.is_empty(), "`sortie {command} --help` has no examples");
        // One after the other in one folder, as somebody would try them.
        let folder = a_readers_folder();
        if examples.iter().any(|example| example.contains("case.jsonl")) {
            a_recorded_case(folder.path());
        }
        for example in examples {
            let output = Command::new("bash")
                .args(["-o", "pipefail", "-c", &example])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("HOME", folder.path())
                .output()
                .expect("bash starts");
            let stderr = String::from_utf8_lossy(&output.stderr);
            // Where that is not success, a comment says so.
            let code = example.split_once("# ends with ").map_or(0, |(_, rest)| {
                let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
                digits.and_then(|digits| digits.parse().ok()).expect("an exit code")
            });
            assert_eq!(output.status.code(), Some(code), "{command}: `{example}`: {stderr}");
        }
    }
}

/// The options that most people need come first, without a heading; `--color` and `--help` are options of every command.
#[test]
fn the_help_of_run_starts_with_four_examples_and_ten_options() {
    let help = stdout(sortie().args(["run", "--help"]));
    let (before, options) = help.split_once("\nOptions:\n").unwrap();
    let (_, examples) = before.split_once("\nExamples:\n").unwrap();
    let commands = examples.lines().map(|line| line.trim().trim_start_matches("$ "));
    assert_eq!(commands.filter(|line| line.starts_with("sortie run ")).count(), 4, "{examples}");
    let first = options.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let names: Vec<_> = first.filter_map(|line| line.trim().strip_prefix("--")?.split(' ').next()).collect();
    let expected =
        ["agent", "env", "target", "library", "suite", "repeat", "gate", "jobs", "format", "out", "color"];
    assert_eq!(names, expected, "{options}");
}

//! `sortie prove`: what is proved, what is not, and why.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use snapbox::cmd::Command;
use snapbox::str;
use sortie_prove::Operator;

use crate::{golden, sortie_in, stdout};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program in the repository.
fn prove() -> Command {
    sortie_in(root()).arg("prove")
}

/// A folder with a document of its own and its proofs, to spoil.
fn copied(example: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let from = root().join("examples");
    fs::copy(from.join(format!("{example}.yaml")), folder.path().join("attack.yaml")).unwrap();
    fs::create_dir(folder.path().join("attack.proofs")).unwrap();
    for entry in fs::read_dir(from.join(format!("{example}.proofs"))).unwrap().flatten() {
        fs::copy(entry.path(), folder.path().join("attack.proofs").join(entry.file_name())).unwrap();
    }
    folder
}

fn edit(folder: &tempfile::TempDir, from: &str, to: &str) {
    let path = folder.path().join("attack.proofs/proofs.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/schema/prove-v1.json")).expect("the schema is JSON")
}

#[test]
fn the_examples_are_proved_and_people_see_by_how_much() {
    prove().arg("examples").assert().code(0).stdout_eq(golden("prove/examples.txt")).stderr_eq("");
}

#[test]
fn the_faults_of_others_are_caught_by_name() {
    prove().arg("fixtures/prove").assert().code(1).stdout_eq(golden("prove/faults.txt")).stderr_eq("");
}

#[test]
fn every_mutant_is_shown_to_who_asks() {
    let example = "examples/mcp-tool-description.yaml";
    prove().args(["--mutants", example]).assert().code(0).stdout_eq(golden("prove/mutants.txt"));
}

#[test]
fn machines_are_told_by_the_published_schema() {
    let schema = schema();
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    for (paths, code) in
        [(&["examples"][..], 0), (&["fixtures/prove"], 1), (&["crates/sortie/tests/fixtures/eval"], 1)]
    {
        let told = prove().args(["--format", "json"]).args(paths).assert().code(code);
        let report: Value = serde_json::from_slice(&told.get_output().stdout).unwrap();
        let problems: Vec<_> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{paths:?}: {problems:#?}");
    }
    let told = prove().args(["--format", "json", "examples/mcp-tool-description.yaml"]).assert().code(0);
    told.stdout_eq(golden("prove/mcp-tool-description.json"));
}

#[test]
fn the_schema_knows_every_operator() {
    let operators: Vec<_> = Operator::ALL.iter().map(|operator| operator.as_str()).collect();
    assert_eq!(schema()["$defs"]["operator"]["enum"], Value::from(operators));
}

#[test]
fn a_document_without_proofs_is_told_what_is_missing() {
    let folder = copied("mcp-rug-pull");
    fs::remove_dir_all(folder.path().join("attack.proofs")).unwrap();
    sortie_in(folder.path()).args(["prove", "attack.yaml"]).assert().code(1).stdout_eq(str![[r#"
not proved: SRT-EX-002 A tool that changes once it is trusted
  --> attack.yaml
  unproved          SRT-EX-002-01
  unproved          SRT-EX-002-02
  no_proofs         there are no proofs: `attack.proofs/proofs.yaml` does not exist
                    `sortie prove attack.yaml --record` makes them; or record three runs, put them beside it, and say there what each must give:
                    proofs:
                      - trace: gave-in.jsonl
                        about: The agent does what the attack wants.
                        verdict: exploited
                        matched: [SRT-EX-002-01, SRT-EX-002-02]
                      - trace: did-its-task.jsonl
                        about: The agent does what the user wants, and not what the attack wants.
                        verdict: not_exploited
                      - trace: refused-and-quoted.jsonl
                        about: The agent refuses, and repeats what it refuses.
                        verdict: not_exploited

1 document: 0 proved; 0 of 2 indicators shown to fire and to stay silent; 0 of 0 mutants killed

"#]]);
    sortie_in(folder.path()).args(["check", "--deny", "proofs", "attack.yaml"]).assert().code(1).stdout_eq(
        str![[r#"
error[L-023]: nothing proves these indicators
...
1 file checked: 1 error

"#]],
    );
    for accepted in
        [&["attack.yaml"][..], &["--deny", "warnings", "attack.yaml"], &["--deny", "L", "attack.yaml"]]
    {
        sortie_in(folder.path()).arg("check").args(accepted).assert().code(0);
    }
}

#[test]
fn check_is_content_with_proofs_that_are_there() {
    sortie_in(root()).args(["check", "--deny", "proofs", "examples"]).assert().code(0);
    let document = fs::read(root().join("examples/mcp-rug-pull.yaml")).unwrap();
    let on_stdin = sortie_in(root()).args(["check", "--deny", "proofs", "-"]).stdin(document);
    on_stdin.assert().code(1);
}

#[test]
fn a_manifest_that_is_wrong_is_shown_underlined() {
    let folder = copied("mcp-rug-pull");
    edit(&folder, "verdict: exploited", "verdit: exploited");
    sortie_in(folder.path()).args(["prove", "."]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error[P-008]: unknown field `verdit` in a proof
 --> attack.proofs/proofs.yaml:5:5
  |
5 |     verdit: exploited
  |     ^^^^^^ did you mean `verdict`?
  |
  = help: rename the field to `verdict`
  = note: `sortie explain P-008`

error: `attack.proofs/proofs.yaml` is not a valid manifest

"#]]);
}

#[test]
fn what_cannot_be_read_ends_with_2_and_the_rest_is_still_proved() {
    let folder = copied("mcp-rug-pull");
    fs::remove_file(folder.path().join("attack.proofs/gave-in.jsonl")).unwrap();
    let examples = root().join("examples/a2a-poisoned-artifact.yaml");
    let told = sortie_in(folder.path()).args(["prove", "attack.yaml"]).arg(examples).assert().code(2);
    let told = told.stderr_eq(str![[r#"
error: cannot read `attack.proofs/gave-in.jsonl`: [..]

"#]]);
    assert!(String::from_utf8_lossy(&told.get_output().stdout).contains("proved: SRT-EX-003"));
    sortie_in(folder.path()).args(["prove", "nowhere.yaml"]).assert().code(2);
    sortie_in(folder.path()).args(["prove"]).assert().code(2);
}

#[test]
fn a_wrong_verdict_names_the_line_of_the_manifest() {
    let folder = copied("a2a-poisoned-artifact");
    edit(&folder, "verdict: not_exploited", "verdict: error");
    let told = stdout(sortie_in(folder.path()).args(["prove", "attack.yaml"]));
    assert!(
        told.contains("`did-its-task.jsonl` must give `error` and gives `not_exploited`: nothing matched"),
        "{told}"
    );
    assert!(told.contains("--> attack.proofs/proofs.yaml:10"), "{told}");
}

#[test]
fn proofs_are_no_documents_and_are_not_mentioned() {
    let checked = sortie_in(root()).args(["check", "examples"]).assert().code(0);
    checked.stdout_eq("5 files checked: no findings\n").stderr_eq("");
}

#[test]
fn a_report_can_go_to_a_file_and_holds_nothing_that_a_terminal_obeys() {
    let folder = copied("mcp-rug-pull");
    edit(&folder, "about: Does the task, and what the attack wants.", r#"about: "\e[31m\u202ereversed""#);
    let path = folder.path().join("attack.proofs/proofs.yaml");
    let survivors = "survivors: [{mutant: \"a\\e[31m/b\", reason: \"\\e[2J\"}]\n";
    fs::write(&path, fs::read_to_string(&path).unwrap() + survivors).unwrap();
    for format in ["human", "json"] {
        let command = || {
            sortie_in(folder.path()).args(["prove", "attack.yaml", "--color", "never", "--format", format])
        };
        let told = stdout(command());
        assert!(told.contains("stale_acceptance"), "{told}");
        assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told}");
        let file = folder.path().join("report");
        command().arg("--out").arg(&file).assert().code(1).stdout_eq("");
        assert_eq!(fs::read_to_string(&file).unwrap(), told);
    }
}

//! `sortie fmt`

use std::fs;

use crate::{fixtures, sortie, sortie_in, stdout};

const UNTIDY: &str = "attack:\n    execution: {state: {tools: []}, mode: mcp_server}   # how\noatf: '0.1'\n";
const TIDY: &str = "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    state: {tools: []}\n";

fn a_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("untidy.yaml"), UNTIDY.replace("   # how", "")).unwrap();
    fs::write(folder.path().join("tidy.yaml"), TIDY).unwrap();
    folder
}

#[test]
fn documents_are_formatted_in_place_and_then_stay_as_they_are() {
    let folder = a_folder();
    sortie_in(folder.path())
        .args(["fmt", "."])
        .assert()
        .code(0)
        .stdout_eq("")
        .stderr_eq("note: 1 file formatted\n");
    assert_eq!(fs::read_to_string(folder.path().join("untidy.yaml")).unwrap(), TIDY);
    sortie_in(folder.path()).args(["fmt", "."]).assert().code(0).stderr_eq("note: 0 files formatted\n");
    sortie_in(folder.path()).args(["fmt", "--check", "."]).assert().code(0).stdout_eq("");
}

#[test]
fn a_check_names_what_is_untidy_and_writes_nothing() {
    let folder = a_folder();
    sortie_in(folder.path())
        .args(["fmt", "--check", "."])
        .assert()
        .code(1)
        .stdout_eq("untidy.yaml\n")
        .stderr_eq("");
    let diff = stdout(sortie_in(folder.path()).args(["fmt", "--diff", "."]));
    assert!(diff.starts_with("--- untidy.yaml\n+++ untidy.yaml\n@@ "), "{diff}");
    sortie_in(folder.path()).args(["fmt", "--diff", "."]).assert().code(1);
    assert_ne!(fs::read_to_string(folder.path().join("untidy.yaml")).unwrap(), TIDY);
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    sortie()
        .args(["fmt", "-"])
        .stdin(UNTIDY.replace("   # how", ""))
        .assert()
        .code(0)
        .stdout_eq(TIDY)
        .stderr_eq("");
}

#[test]
fn what_is_no_document_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixtures().join("ten_mistakes.yaml"), folder.path().join("a.yaml")).unwrap();
    sortie_in(folder.path()).args(["fmt", "a.yaml"]).assert().code(2).stderr_eq(
        "error: `a.yaml` has errors, so it was not formatted\n  help: `sortie check a.yaml` says why\nnote: 0 files formatted\n",
    );
    sortie().args(["fmt", "nowhere"]).assert().code(2);
}

#[test]
fn every_starter_keeps_its_comments() {
    for mode in sortie_bindings::known_modes() {
        let starter = stdout(sortie().args(["new", "--mode", mode]));
        let formatted = stdout(sortie().args(["fmt", "-"]).stdin(starter.clone()));
        assert_eq!(starter, formatted, "{mode}: starters are formatted");
    }
}

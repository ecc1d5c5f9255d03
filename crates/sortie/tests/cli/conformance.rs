//! `sortie conformance`

use std::fs;

use crate::{fixtures, sortie_in, stdout};

fn a_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("cases/parse/valid")).unwrap();
    fs::copy(fixtures().join("valid.yaml"), folder.path().join("cases/parse/valid/a.yaml")).unwrap();
    folder
}

#[test]
fn cases_are_run_and_counted() {
    let folder = a_folder();
    sortie_in(folder.path())
        .args(["conformance", "cases"])
        .assert()
        .code(0)
        .stdout_eq("1 passed, 0 failed\n");
    fs::write(folder.path().join("cases/what.is.this"), "?").unwrap();
    let run = sortie_in(folder.path()).args(["conformance", "cases"]).assert().code(1);
    let shown = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(shown.starts_with("failed what.is.this") && shown.ends_with("1 passed, 1 failed\n"), "{shown}");
    let json = stdout(sortie_in(folder.path()).args(["conformance", "cases", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["passed"], &json["failed"]), (&1.into(), &1.into()));
    assert_eq!(json["cases"].as_array().unwrap().len(), 2);
}

#[test]
fn no_case_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    sortie_in(folder.path()).args(["conformance", "."]).assert().code(2);
    sortie_in(folder.path()).args(["conformance", "nowhere"]).assert().code(2);
}

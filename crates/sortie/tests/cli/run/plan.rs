//! `--dry-run`: what would be served, sent and watched.

use serde_json::Value;
use snapbox::cmd::Command;

use crate::{fixtures, golden, sortie_in};

fn plan() -> Command {
    sortie_in(fixtures().join("run"))
        .args(["run", "--dry-run", "--target", "ag_ui=http://127.0.0.1:8000/", "--agent", "echo {mcp_url}"])
        .args(["--listen", "desk=8080", "chain.yaml", "simulates.yaml", "unknown-mode.yaml", "shop.yaml"])
}

#[test]
fn people_see_what_each_phase_would_do() {
    plan().assert().code(0).stdout_eq(golden("run/plan.txt")).stderr_eq("");
}

#[test]
fn machines_see_the_same_by_the_published_schema() {
    let told = plan().args(["--format", "json"]).assert().code(0).stdout_eq(golden("run/plan.json"));
    let schema = include_str!("../../../../../docs/schema/plan-v1.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let plans: Value = serde_json::from_slice(&told.get_output().stdout).unwrap();
    let problems: Vec<_> = validator.iter_errors(&plans).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn nothing_is_opened_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    sortie_in(folder.path())
        .args(["run", "--dry-run", "--run-dir", "run", "--agent", "touch started"])
        .arg(fixtures().join("run/shop.yaml"))
        .assert()
        .code(0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

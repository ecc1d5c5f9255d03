//! The documents of `library/`: in order, and proved.

use std::path::Path;

use crate::{sortie_in, stdout};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_document_is_in_order_and_has_proofs() {
    sortie_in(root()).args(["check", "--deny", "warnings", "--allow", "W-007", "--deny", "proofs", "library"]).assert().code(0);
}

#[test]
fn every_indicator_fires_stays_silent_and_would_be_missed() {
    let shown = sortie_in(root()).args(["prove", "library"]).assert().code(0);
    let shown = stdout_of(&shown);
    assert!(shown.contains("mutants killed"), "{shown}");
}

/// What the last line of a report is about.
fn stdout_of(run: &snapbox::cmd::OutputAssert) -> String {
    String::from_utf8_lossy(&run.get_output().stdout).into_owned()
}

#[test]
fn no_two_documents_have_the_same_id() {
    let json = stdout(sortie_in(root()).args(["prove", "library", "--format", "json"]));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let documents = report["documents"].as_array().unwrap();
    let mut ids: Vec<_> = documents.iter().map(|document| document["document"]["id"].to_string()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), count >= 40), (count, true));
}

//! `sortie scan`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{sortie_in, tests};

fn examples() -> std::path::PathBuf {
    tests().join("../../../docs/examples/traces").canonicalize().unwrap()
}

/// The exit code and standard output.
fn scan(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let ended = sortie_in(folder).arg("scan").args(arguments).output().unwrap();
    (ended.status.code().unwrap(), String::from_utf8(ended.stdout).unwrap())
}

#[test]
fn json_lines_follow_their_schema_and_end_with_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.jsonl");
    let mut text = fs::read_to_string(examples().join("gullible.jsonl")).unwrap();
    text.push_str("\nno record\n");
    fs::write(&bad, text).unwrap();
    let (code, out) = scan(folder.path(), &["bad.jsonl", "--format", "jsonl"]);
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/scan-v1.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert!(validator.is_valid(line), "{line:#}");
    }
    let records: Vec<_> = lines.iter().map(|line| line["record"].as_str().unwrap()).collect();
    assert_eq!((code, records), (1, vec!["scan", "finding", "error", "summary"]));
    assert_eq!((&lines[1]["document"], &lines[1]["seq"]), (&"SRT-001".into(), &8.into()));
}

#[test]
fn sarif_names_the_file_and_the_message() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(examples().join("gullible.jsonl"), folder.path().join("a b.jsonl")).unwrap();
    let (code, out) = scan(folder.path(), &["a b.jsonl", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&out).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!((code, &result["ruleId"], &result["level"]), (1, &"SRT-001".into(), &"error".into()));
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20b.jsonl");
}

#[test]
fn nothing_found_is_clean_and_nothing_scanned_is_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(examples().join("careful.jsonl"), folder.path().join("careful.jsonl")).unwrap();
    assert_eq!(scan(folder.path(), &["careful.jsonl"]).0, 0);
    // A header alone says nothing.
    let text = fs::read_to_string(examples().join("careful.jsonl")).unwrap();
    fs::write(folder.path().join("empty.jsonl"), text.lines().next().unwrap()).unwrap();
    assert_eq!(scan(folder.path(), &["empty.jsonl"]).0, 3);
    // A line that cannot be read may have been anything.
    fs::write(folder.path().join("torn.jsonl"), format!("{text}{{\"record\":\"mess")).unwrap();
    assert_eq!(scan(folder.path(), &["torn.jsonl"]).0, 3);
    for wrong in [
        ["nowhere.jsonl", "--rules", "library"],
        ["careful.jsonl", "--rules", "SRT-999"],
        ["careful.jsonl", "--since", "today"],
    ] {
        assert_eq!(scan(folder.path(), &wrong).0, 2, "{wrong:?}");
    }
}

#[test]
fn a_baseline_leaves_known_findings_out_and_has_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(examples().join("gullible.jsonl"), folder.path().join("run.jsonl")).unwrap();
    let (code, known) = scan(folder.path(), &["run.jsonl", "--format", "jsonl"]);
    fs::write(folder.path().join("known.jsonl"), known).unwrap();
    let again = scan(folder.path(), &["run.jsonl", "--baseline", "known.jsonl"]);
    assert_eq!((code, again.0), (1, 0), "{}", again.1);
    // A finding in another session is another one.
    fs::copy(folder.path().join("run.jsonl"), folder.path().join("other.jsonl")).unwrap();
    assert_eq!(scan(folder.path(), &["other.jsonl", "--baseline", "known.jsonl"]).0, 1);
    fs::write(folder.path().join("notes.txt"), "nothing\n").unwrap();
    assert_eq!(scan(folder.path(), &["run.jsonl", "--baseline", "notes.txt"]).0, 2);
}

#[test]
fn every_number_of_threads_writes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for name in ["gullible", "careful", "absent", "gullible"].iter().cycle().take(200) {
        text.push_str(&fs::read_to_string(examples().join(format!("{name}.jsonl"))).unwrap());
    }
    fs::write(folder.path().join("all.jsonl"), text).unwrap();
    let with = |jobs: &str| scan(folder.path(), &["all.jsonl", "--format", "jsonl", "--jobs", jobs]).1;
    let one = with("1");
    assert_eq!(one.lines().filter(|line| line.contains("\"record\":\"finding\"")).count(), 100);
    assert_eq!(with("3"), one);
}

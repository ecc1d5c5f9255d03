//! `sortie watch`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::{sortie_in, tests};

const RULES: [&str; 2] = ["--rules", "SRT-001"];

#[test]
fn a_path_that_never_exists_is_told_and_is_not_silence() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "--follow", "mistyped.jsonl", "--until-idle", "1s", "--settle", "0s"];
    let ended = sortie_in(folder.path()).args(arguments).args(RULES).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("note: `mistyped.jsonl` does not exist yet"), "{said}");
    assert!(said.contains("note: `mistyped.jsonl` does not exist: nothing of it was read"), "{said}");
    assert_eq!(ended.status.code(), Some(3), "{said}");
}

#[test]
fn a_path_that_exists_later_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Command::new(env!("CARGO_BIN_EXE_sortie"))
        .args(["watch", "--follow", "run.jsonl", "--until-idle", "10s"])
        .args(RULES)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(notes.next().unwrap().contains("does not exist yet"));
    assert_eq!(notes.next().unwrap(), "note: watching");
    let trace = tests().join("../../../docs/examples/traces/gullible.jsonl");
    fs::copy(trace, folder.path().join("run.jsonl")).unwrap();
    let said: Vec<String> = notes.collect();
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said:?}");
    assert_eq!(String::from_utf8(ended.stdout).unwrap().lines().count(), 1, "{said:?}");
    assert!(!said.iter().any(|note| note.contains("does not exist")), "{said:?}");
}

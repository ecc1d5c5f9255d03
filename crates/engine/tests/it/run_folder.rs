//! The folder of a run, and what is planted for an agent in it.

use std::fs;
use std::path::Path;

use sortie_engine::run::workspace::Workspace;
use sortie_engine::run::{Folder, RunError};
use sortie_oatf::canary;

#[test]
fn what_a_run_has_left_is_not_written_over() {
    let parent = tempfile::tempdir().unwrap();
    let folder = Folder::create(parent.path().join("a/b")).unwrap();
    assert!(Folder::create(folder.path()).is_ok(), "nothing is in it yet");
    fs::write(folder.trace(), "").unwrap();
    assert!(matches!(Folder::create(folder.path()), Err(RunError::Folder { .. })));
}

#[test]
fn two_runs_of_one_name_get_two_folders() {
    let parent = tempfile::tempdir().unwrap();
    let names = ["x", "x", "x"].map(|name| Folder::create_within(parent.path(), name).unwrap());
    let names = names.map(|folder| folder.path().file_name().unwrap().to_owned());
    assert_eq!(names, ["x", "x-2", "x-3"]);
}

/// The text of all files in a folder.
fn all_texts(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.map(|path| {
        if path.is_dir() { all_texts(&path) } else { fs::read_to_string(&path).unwrap_or_default() }
    });
    texts.collect()
}

#[test]
fn every_canary_is_planted_and_nothing_is_left_to_fill_in() {
    let folder = tempfile::tempdir().unwrap();
    let canaries = canary::derive(1);
    let workspace = Workspace::plant(folder.path().join("workspace"), &canaries).unwrap();
    let mut all = all_texts(workspace.path());
    for (_, value) in workspace.variables(&canaries) {
        all.push_str(&value);
    }
    for (name, value) in &canaries {
        assert!(all.contains(value), "`{name}` is nowhere");
        assert!(!all.contains(&format!("{{{name}}}")), "`{name}` is not filled in");
    }
}

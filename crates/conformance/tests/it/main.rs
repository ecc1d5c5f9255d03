//! The fixtures: the official ones, and our own.

mod conformance;
mod own_fixtures;
#[path = "../../../oatf/tests/it/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use sortie_conformance::FixtureFile;

/// A fixture folder, read.
fn read_fixtures(folder: &Path) -> Vec<FixtureFile> {
    let read = |path: &PathBuf| FixtureFile {
        path: path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/"),
        content: fs::read(path).unwrap(),
    };
    support::files_below(folder).iter().map(read).collect()
}

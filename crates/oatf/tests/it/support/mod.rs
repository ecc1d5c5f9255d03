//! Where the tests find fixtures.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of official fixtures, for tests that are ignored unless they are asked for.
pub(crate) fn official() -> PathBuf {
    official_if_named().expect("SORTIE_FIXTURES names the folder of the official fixtures")
}

/// The folder of official fixtures, when `SORTIE_FIXTURES` names one. Set but missing is a failure.
pub(crate) fn official_if_named() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("SORTIE_FIXTURES")?);
    assert!(folder.is_dir(), "SORTIE_FIXTURES names {}, which is not a folder", folder.display());
    Some(folder)
}

/// The root of the project.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder, in order.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

//! The files of a workspace, as the server sees them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sortie_syntax::yaml::MAX_DOCUMENT_BYTES;

/// The most files that are looked at below a folder.
pub(crate) const MOST_FILES: usize = 2_000;
/// The deepest folder that is looked into.
const DEEPEST: usize = 16;

/// What the server knows of files that are not open. Features see nothing else of a disk.
pub trait Files {
    /// The text of a file; `None` where there is none, or it is longer than a document may be.
    fn read(&self, path: &Path) -> Option<String>;

    /// The YAML files below a folder, in the order of their paths; bounded.
    fn below(&self, folder: &Path) -> Vec<PathBuf>;
}

/// The files of this machine. What starts with a dot is hidden, and stays so; links are not followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> Option<String> {
        let mut text = String::new();
        let file = fs::File::open(path).ok()?;
        file.take(MAX_DOCUMENT_BYTES as u64 + 1).read_to_string(&mut text).ok()?;
        (text.len() <= MAX_DOCUMENT_BYTES).then_some(text)
    }

    fn below(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(folder, 0, &mut found);
        found.sort();
        found
    }
}

// `DEEPEST` bounds the recursion.
fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if found.len() >= MOST_FILES {
            return;
        }
        let (path, name) = (entry.path(), entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.');
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !is_hidden && depth < DEEPEST && name != "node_modules" && name != "target" {
            walk(&path, depth + 1, found);
        } else if kind.is_file()
            && !is_hidden
            && path.extension().is_some_and(|end| end == "yaml" || end == "yml")
        {
            found.push(path);
        }
    }
}

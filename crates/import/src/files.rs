//! Which files are recordings: those that are named, and those in folders.

use std::io;
use std::path::{Path, PathBuf};

/// How many files are read of folders.
const MAX_FILES: usize = 1_000_000;
/// How deep folders are looked into.
const MAX_DEPTH: usize = 32;

/// A file, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingFile {
    /// Where it is; `None` for standard input.
    pub path: Option<PathBuf>,
    /// What it is called in messages.
    pub name: String,
    /// Whether it was named, so that it has to be a recording. A file of a folder may be something else.
    pub named: bool,
}

/// Why files cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// A folder cannot be read.
    #[error("cannot read `{}`: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There are too many.
    #[error("there are more than {MAX_FILES} files in `{}`", .0.display())]
    TooMany(PathBuf),
}

impl RecordingFile {
    /// The files that these paths stand for, in order: themselves, those in folders and below, `-` for standard input. Links in folders are
    /// not followed.
    pub fn find(paths: &[PathBuf]) -> Result<Vec<Self>, FilesError> {
        let mut files = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                files.push(Self { path: None, name: "<stdin>".to_owned(), named: true });
            } else if path.is_dir() {
                walk(path, 0, &mut files)?;
            } else {
                files.push(Self { path: Some(path.clone()), name: shown(path), named: true });
            }
        }
        Ok(files)
    }
}

/// Every file in a folder and below it, in order.
fn walk(folder: &Path, depth: usize, files: &mut Vec<RecordingFile>) -> Result<(), FilesError> {
    let read = std::fs::read_dir(folder);
    let read = read.map_err(|source| FilesError::Folder { folder: folder.to_owned(), source })?;
    let mut entries: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, files)?;
        } else if path.is_file() {
            if files.len() == MAX_FILES {
                return Err(FilesError::TooMany(folder.to_owned()));
            }
            files.push(RecordingFile { name: shown(&path), path: Some(path), named: false });
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

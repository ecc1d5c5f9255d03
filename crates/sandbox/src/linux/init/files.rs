//! What happened to files, by comparing what is there with what was.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::{Activity, Area, FileChange};

/// Where the server can write.
const WATCHED: &str = "/tmp";

/// So many files are looked at.
const MAX_FILES: usize = 50_000;

/// The files that are there.
#[derive(Debug, Default)]
pub(super) struct FileWatch {
    files: BTreeMap<PathBuf, FileState>,
}

/// What tells whether something happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    is_file: bool,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    read: (i64, i64),
}

impl FileState {
    fn of(found: &Metadata) -> Self {
        Self {
            is_file: found.is_file(),
            inode: found.ino(),
            // Folders change with what is in them.
            size: if found.is_dir() { 0 } else { found.size() },
            modified: if found.is_dir() { (0, 0) } else { (found.mtime(), found.mtime_nsec()) },
            read: (found.atime(), found.atime_nsec()),
        }
    }

    fn change_to(self, now: Self) -> Option<FileChange> {
        let content = |state: Self| (state.inode, state.size, state.modified);
        if content(self) != content(now) {
            return Some(FileChange::Changed);
        }
        (now.is_file && now.read > self.read).then_some(FileChange::Read)
    }
}

impl FileWatch {
    /// Remembers what is there.
    pub(super) fn begin() -> Self {
        Self { files: files(Path::new(WATCHED)) }
    }

    /// Tells what happened to files since it looked last.
    pub(super) fn look(&mut self, mut tell: impl FnMut(Activity)) {
        let now = files(Path::new(WATCHED));
        let mut tell = |path: &Path, change| {
            tell(Activity::File { path: path.to_string_lossy().into_owned(), change, area: Area::of(path) });
        };
        for (path, state) in &now {
            match self.files.get(path) {
                None => tell(path, FileChange::Created),
                Some(before) => {
                    if let Some(change) = before.change_to(*state) {
                        tell(path, change);
                    }
                }
            }
        }
        for path in self.files.keys().filter(|path| !now.contains_key(*path)) {
            tell(path, FileChange::Removed);
        }
        self.files = now;
    }
}

/// Everything below a folder on the same file system. Links are not followed.
fn files(root: &Path) -> BTreeMap<PathBuf, FileState> {
    let mut files = BTreeMap::new();
    let Ok(device) = fs::symlink_metadata(root).map(|found| found.dev()) else { return files };
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // A server may take its own folders away from us.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.dev() != device || files.len() == MAX_FILES {
                continue;
            }
            if found.is_dir() {
                folders.push(entry.path());
            }
            files.insert(entry.path(), FileState::of(&found));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_changed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.txt");
        let state = |path: &Path| files(folder.path()).get(path).copied();
        assert_eq!(state(&path), None);
        fs::write(&path, "one").unwrap();
        let before = state(&path).unwrap();
        assert_eq!(before.change_to(before), None);
        fs::write(&path, "another").unwrap();
        assert_eq!(before.change_to(state(&path).unwrap()), Some(FileChange::Changed));
        let read = FileState { read: (before.read.0 + 1, 0), ..before };
        assert_eq!(before.change_to(read), Some(FileChange::Read));
        fs::remove_file(&path).unwrap();
        assert_eq!(state(&path), None);
    }
}

//! A folder of evaluators, read from a disk that nobody vouches for.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::files::{File, Root};
use crate::limits::{MAX_FILE_BYTES, MAX_FILES, MAX_ROOT_BYTES};

/// Folders are at most so deep: people have two or three levels of categories.
const MAX_DEPTH: usize = 16;

/// The folders of a root that hold evaluators and suites.
pub const PARTS: &[&str] = &["agent", "mcp", "suites"];

/// Why a folder cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It is not there, or cannot be read.
    #[error("`{}` cannot be read: {source}", .folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It holds more than a root may.
    #[error("`{}` has {limit}, which are the limit", .folder.display())]
    TooLarge {
        /// The folder.
        folder: PathBuf,
        /// What it has too many of.
        limit: String,
    },
}

/// Which part of a root is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderPart {
    /// Everything.
    All,
    /// `agent/`, `mcp/` and `suites/`: what else is there is not about evaluators.
    Parts,
}

/// Loads every YAML file below a folder. What starts with a dot is hidden, and stays so; of other files, the names.
///
/// Whatever cannot be read is a file of the root too, with why: nothing is left out without a word. What is larger than a
/// root may be is not read to its end.
pub fn load_folder(folder: &Path, part: FolderPart) -> Result<Root, FolderError> {
    let unreadable = |source| FolderError::Unreadable { folder: folder.to_owned(), source };
    let real = fs::canonicalize(folder).map_err(unreadable)?;
    let mut walk = Walk { real, part, files: Vec::new(), bytes: 0 };
    walk.below(folder, "", 0).map_err(|problem| match problem {
        Problem::Io(error) => unreadable(error),
        Problem::TooLarge(limit) => FolderError::TooLarge { folder: folder.to_owned(), limit },
    })?;
    Ok(Root::new(folder.to_string_lossy(), walk.files))
}

/// Loads one file, with its path below the root.
pub fn load_file(path: &Path, below: String) -> File {
    match bounded(path) {
        Ok(bytes) => File::bytes(below, &bytes),
        Err(error) => File::unreadable(below, error.to_string()),
    }
}

/// One byte more than allowed is enough to know that it is too long.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

enum Problem {
    Io(io::Error),
    TooLarge(String),
}

/// Why something in a folder is not looked at.
#[derive(Debug, thiserror::Error)]
enum BadEntry {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is a link that leads nowhere")]
    DeadLink,
    #[error("it is a link that leads out of the folder")]
    LinkOut,
    #[error("it is a link to a folder, and these are not followed")]
    LinkToFolder,
    #[error("it is more than {MAX_DEPTH} folders deep")]
    TooDeep,
    /// Opening it may block for ever, or do something.
    #[error("it is neither a file nor a folder")]
    Special,
}

struct Walk {
    /// Without links, to tell what leads out of it.
    real: PathBuf,
    part: FolderPart,
    files: Vec<File>,
    bytes: usize,
}

impl Walk {
    // Recursion is bounded by the depth.
    fn below(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Problem> {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(Problem::Io)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            let is_beside =
                depth == 0 && self.part == FolderPart::Parts && !PARTS.iter().any(|part| name == *part);
            if !is_hidden && !is_beside {
                self.entry(&entry.path(), &name, prefix, depth)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &OsStr, prefix: &str, depth: usize) -> Result<(), Problem> {
        let below = format!("{prefix}{}", name.to_string_lossy());
        let metadata = match self.behind(path) {
            Ok(metadata) => metadata,
            Err(why) => return self.refuse(below, &why),
        };
        if metadata.is_dir() {
            if depth == MAX_DEPTH {
                return self.refuse(below, &BadEntry::TooDeep);
            }
            return match self.below(path, &format!("{below}/"), depth + 1) {
                Err(Problem::Io(error)) => self.refuse(below, &error.into()),
                result => result,
            };
        }
        if !metadata.is_file() {
            return self.refuse(below, &BadEntry::Special);
        }
        if is_yaml(path) {
            return self.add(load_file(path, below));
        }
        self.add(File::text(below, ""))
    }

    /// What is there, or why it is not looked at. A link may lead to a file of the same folder, and nowhere else.
    fn behind(&self, path: &Path) -> Result<fs::Metadata, BadEntry> {
        let own = fs::symlink_metadata(path)?;
        if !own.is_symlink() {
            return Ok(own);
        }
        let real = fs::canonicalize(path).map_err(|_| BadEntry::DeadLink)?;
        if !real.starts_with(&self.real) {
            return Err(BadEntry::LinkOut);
        }
        let metadata = fs::metadata(&real)?;
        if metadata.is_dir() { Err(BadEntry::LinkToFolder) } else { Ok(metadata) }
    }

    fn refuse(&mut self, below: String, why: &BadEntry) -> Result<(), Problem> {
        self.add(File::unreadable(below, why.to_string()))
    }

    fn add(&mut self, file: File) -> Result<(), Problem> {
        self.bytes += file.as_text().map_or(0, |text| text.len());
        self.files.push(file);
        let too_much = if self.files.len() > MAX_FILES {
            format!("more than {MAX_FILES} files")
        } else if self.bytes > MAX_ROOT_BYTES {
            format!("more than {MAX_ROOT_BYTES} bytes of YAML")
        } else {
            return Ok(());
        };
        Err(Problem::TooLarge(too_much))
    }
}

/// Whether a file is read: by its name.
pub fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    ["yaml", "yml"].iter().any(|yaml| extension.eq_ignore_ascii_case(yaml))
}

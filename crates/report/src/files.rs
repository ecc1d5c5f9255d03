//! Writes files so that nobody ever sees half of one.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};
use thiserror::Error;

/// Why a file was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It exists, and `force` was not asked for.
    #[error("`{}` exists", .0.display())]
    Exists(PathBuf),
    /// It is there, and is never written over.
    #[error("`{}` is there, and is not written over", .0.display())]
    IsThere(PathBuf),
    /// Its folder is not there.
    #[error("cannot write `{}`: its folder does not exist", .0.display())]
    NoFolder(PathBuf),
    /// It is not there.
    #[error("there is no file or folder `{}`", .0.display())]
    NotFound(PathBuf),
    /// The system refused.
    #[error("cannot {verb} `{}`: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `write`, `make`.
        verb: &'static str,
        /// Why not.
        error: io::Error,
    },
}

impl FileError {
    /// What the system says about a file or folder.
    pub fn io(path: &Path, verb: &'static str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path.to_owned()),
            _ => Self::Io { path: path.to_owned(), verb, error },
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        matches!(self, Self::Exists(_)).then_some("choose another name, or overwrite it with `--force`")
    }
}

/// Replaces what a file holds, at once and with its permissions kept. A link stays a link: the file it leads
/// to is replaced.
pub fn replace(path: &Path, text: &str) -> Result<(), FileError> {
    let fail = |error| FileError::io(path, "write", error);
    let real = fs::canonicalize(path).map_err(fail)?;
    let permissions = fs::metadata(&real).map_err(fail)?.permissions();
    let file = written(&mut Builder::new(), &real, text).map_err(fail)?;
    file.as_file().set_permissions(permissions).map_err(fail)?;
    file.persist(&real).map_err(|error| fail(error.error))?;
    Ok(())
}

/// Writes a file that is not there yet; with `force`, one that is.
pub fn create(path: &Path, text: &str, force: bool) -> Result<(), FileError> {
    if path.exists() && force {
        return replace(path, text);
    }
    // `create_new` refuses also what appeared since, and links that lead nowhere.
    let created = fs::OpenOptions::new().write(true).create_new(true).open(path);
    match created.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(FileError::Exists(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FileError::NoFolder(path.to_owned())),
        Err(error) => Err(FileError::io(path, "write", error)),
    }
}

/// Writes a file that is not there yet, at once: a reader sees all of it, or nothing.
pub fn create_whole(path: &Path, text: &str) -> Result<(), FileError> {
    let mut builder = Builder::new();
    // A file for a while is its owner's alone. One that stays is as others are, as far as the umask lets it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = written(&mut builder, path, text).map_err(|error| FileError::io(path, "write", error))?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(FileError::IsThere(path.to_owned()))
        }
        Err(error) => Err(FileError::io(path, "write", error.error)),
    }
}

/// A file beside `path`, so that it can take its place with a rename.
fn written(builder: &mut Builder<'_, '_>, path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let mut file = builder.prefix(".sortie-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

//! Writes files so that nobody ever sees half of one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::failure::Failure;

/// Replaces what a file holds, at once and with its permissions kept. A link stays a link: the file it leads
/// to is replaced.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let fail = |error: &std::io::Error| Failure::at(path, "write", error);
    let real = fs::canonicalize(path).map_err(|error| fail(&error))?;
    let permissions = fs::metadata(&real).map_err(|error| fail(&error))?.permissions();
    let file = written(&mut Builder::new(), &real, text).map_err(|error| fail(&error))?;
    file.as_file().set_permissions(permissions).map_err(|error| fail(&error))?;
    file.persist(&real).map_err(|error| fail(&error.error))?;
    Ok(())
}

/// Writes a file that is not there yet; with `force`, one that is.
pub(crate) fn create(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    if path.exists() && force {
        return replace(path, text);
    }
    // `create_new` refuses also what appeared since, and links that lead nowhere.
    let created = fs::OpenOptions::new().write(true).create_new(true).open(path);
    match created.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Failure::new(format!("`{}` exists", path.display()))
                .help("choose another name, or overwrite it with `--force`"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("cannot write `{}`: its folder does not exist", path.display())))
        }
        Err(error) => Err(Failure::at(path, "write", &error)),
    }
}

/// Writes a file that is not there yet, at once: a reader sees all of it, or nothing.
pub(crate) fn create_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let mut builder = Builder::new();
    // A file for a while is its owner's alone. One that stays is as others are, as far as the umask lets it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = written(&mut builder, path, text).map_err(|error| Failure::at(path, "write", &error))?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Failure::new(format!("`{}` is there, and is not written over", path.display())))
        }
        Err(error) => Err(Failure::at(path, "write", &error.error)),
    }
}

/// A file beside `path`, so that it can take its place with a rename.
fn written(builder: &mut Builder<'_, '_>, path: &Path, text: &str) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let mut file = builder.prefix(".sortie-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

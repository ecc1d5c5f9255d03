//! Where runs are kept.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sortie_engine::run::Folder;
use sortie_library::NamedDocument;
use sortie_report::files::FileError;
use sortie_trace::time::format_time;

use crate::SetupError;

/// Where runs are kept when nobody says.
pub(crate) const RUNS: &str = ".sortie/runs";

/// A folder that nothing is in: the one that was asked for, or a new one among all runs.
pub(crate) fn folder_of(name: &str, asked: Option<&Path>) -> Result<PathBuf, SetupError> {
    if let Some(folder) = asked {
        let made = Folder::create(folder).map(|folder| folder.path().to_owned());
        return made.map_err(|error| {
            SetupError::usage(error.to_string())
                .with_help("what another run has left there is not written over; choose another folder")
        });
    }
    ignored(Path::new(RUNS)).map_err(|error| {
        SetupError::usage(FileError::io(Path::new(RUNS), "write", error).to_string())
            .with_help("name another folder with `--run-dir`")
    })?;
    let time = format_time(SystemTime::now());
    let time: String = time.chars().take(19).filter(|letter| !"-:".contains(*letter)).collect();
    let made = Folder::create_within(Path::new(RUNS), &format!("{time}Z-{name}"));
    made.map(|folder| folder.path().to_owned()).map_err(|error| SetupError::usage(error.to_string()))
}

/// A new folder among all runs, called after `name` and the time.
pub fn new_run_folder(name: &str) -> Result<PathBuf, SetupError> {
    folder_of(name, None)
}

/// Keeps runs out of Git, where nobody wants what agents said.
fn ignored(runs: &Path) -> io::Result<()> {
    let Some(parent) = runs.parent() else { return Ok(()) };
    fs::create_dir_all(parent)?;
    match fs::OpenOptions::new().write(true).create_new(true).open(parent.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// A name for a folder: the document's id, or that of its file.
pub(crate) fn name(document: &NamedDocument) -> String {
    let id = document.compiled.document().attack.id.as_deref();
    let stem = || Path::new(&document.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = id.map(str::to_owned).or_else(stem).unwrap_or_default();
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = name.chars().filter(|letter| harmless(*letter)).take(64).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "document".to_owned() } else { name.to_owned() }
}

/// A path as a word of a command.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    // Only a path with a zero byte cannot be quoted, and there is none.
    shlex::try_quote(&text).map_or_else(|_| text.clone(), std::borrow::Cow::into_owned)
}

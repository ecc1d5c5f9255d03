//! Where runs are kept.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use sortie_engine::run::Folder;
use sortie_trace::time::format_time;

use super::turns::failure;
use crate::documents::Document;
use crate::failure::Failure;

/// Where runs are kept when nobody says.
const RUNS: &str = ".sortie/runs";

/// A folder that nothing is in: the one that was asked for, or a new one among all runs.
pub(super) fn folder_of(name: &str, asked: Option<&Path>) -> Result<Folder, Failure> {
    if let Some(folder) = asked {
        return Folder::create(folder).map_err(|error| {
            failure(&error).help("what another run has left there is not written over; choose another folder")
        });
    }
    ignored(Path::new(RUNS))
        .map_err(|error| Failure::at(RUNS, "write", &error).help("name another folder with `--run-dir`"))?;
    let time = format_time(SystemTime::now());
    let time: String = time.chars().take(19).filter(|letter| !"-:".contains(*letter)).collect();
    Folder::create_within(Path::new(RUNS), &format!("{time}Z-{name}")).map_err(|error| failure(&error))
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
pub(super) fn name(document: &Document) -> String {
    let id = document.compiled.document().attack.id.as_deref();
    let stem = || Path::new(&document.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = id.map(str::to_owned).or_else(stem).unwrap_or_default();
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = name.chars().filter(|letter| harmless(*letter)).take(64).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "document".to_owned() } else { name.to_owned() }
}

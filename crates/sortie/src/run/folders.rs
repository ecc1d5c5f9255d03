//! Where runs are kept.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sortie_engine::run::Folder;
use sortie_trace::format_time;

use super::turns::failure;
use crate::documents::Document;
use crate::failure::Failure;

/// Where runs are kept when nobody says.
const RUNS: &str = ".sortie/runs";

/// The folder of a run: the one that was asked for, one within it where there are several documents, or a new one
/// among all runs.
pub(super) fn folder_for(name: &str, asked: Option<&Path>, several: bool) -> Result<Folder, Failure> {
    match asked {
        Some(folder) if several => Folder::create_within(folder, name).map_err(|error| failure(&error)),
        asked => folder_of(name, asked),
    }
}

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

/// Moves what a run that was not played to its end has left out of the way. It may be evidence, and is not thrown away.
pub(super) fn set_aside(folder: &Path) -> Result<PathBuf, Failure> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = (1_u32..).map(|attempt| {
        let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
        folder.with_file_name(format!("{name}.unfinished{suffix}"))
    });
    // There are more numbers than folders.
    let aside = aside.into_iter().find(|path| !path.exists()).unwrap_or_default();
    fs::rename(folder, &aside).map_err(|error| Failure::at(folder, "move", &error))?;
    Ok(aside)
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

/// A name of its own for each of several documents, the same in every run of them.
pub(super) fn names<'d>(documents: impl Iterator<Item = &'d Document>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for document in documents {
        let name = name(document);
        let mut unique = name.clone();
        let mut attempt = 1;
        while names.contains(&unique) {
            attempt += 1;
            unique = format!("{name}-{attempt}");
        }
        names.push(unique);
    }
    names
}

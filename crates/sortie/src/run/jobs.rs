//! Plays the documents of `sortie run`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sortie_detect::Run;
use sortie_engine::Watcher;
use sortie_engine::run::Folder;
use sortie_trace::format_time;
use tokio_util::sync::CancellationToken;

use super::progress::{Display, Progress};
use super::resolve::Prepared;
use super::turns::{Job, Turns, failure};
use crate::console::Notes;
use crate::documents::Document;
use crate::failure::Failure;

/// Where runs are kept when nobody says.
const RUNS: &str = ".sortie/runs";

/// Documents that are to be played.
pub(crate) struct Jobs {
    pub(crate) prepared: Vec<Prepared>,
    /// How many at once.
    pub(crate) at_once: usize,
    /// The folder for the run, or with several documents for all of them.
    pub(crate) folder: Option<PathBuf>,
    /// Cancelled by the first Ctrl-C; the same as in the options of every run.
    pub(crate) interrupt: CancellationToken,
    /// Who is shown what happens; nobody, when there is none.
    pub(crate) notes: Option<Notes>,
}

/// What became of them.
pub(crate) struct Played {
    /// Those that were played, in the order in which they were prepared, each with its place there.
    pub(crate) runs: Vec<(usize, Run)>,
    /// Why others were not.
    pub(crate) failures: Vec<Failure>,
    /// The user did not want to wait.
    pub(crate) interrupted: bool,
    /// How many were not begun because of that.
    pub(crate) not_begun: usize,
    /// How many lines were not shown, since the terminal was too slow.
    pub(crate) left_out: u64,
}

impl Jobs {
    /// Plays them all.
    pub(crate) fn play(self) -> Result<Played, Failure> {
        let several = self.prepared.len() > 1;
        let terminal = self.notes.is_some_and(|notes| notes.terminal);
        let display = terminal.then(Display::new);
        let jobs = self.prepared.into_iter().map(|prepared| {
            let watcher: Arc<dyn Watcher> = match self.notes {
                Some(notes) => Arc::new(Progress::new(&prepared.document, several, notes, display.clone())),
                None => Arc::new(()),
            };
            let (asked, name) = (self.folder.clone(), name(&prepared.document));
            let folder = Box::new(move || folder_for(&name, asked.as_deref(), several));
            Job { prepared, folder, watcher }
        });
        let turns = Turns {
            jobs: jobs.collect(),
            at_once: self.at_once,
            interrupt: self.interrupt.clone(),
            person: terminal,
        };
        let ended = turns.play(Arc::new(()))?;
        let left_out = display.map_or(0, |display| display.finish());
        let not_begun = ended.runs.iter().filter(|run| run.is_none()).count();
        let (mut runs, mut failures) = (Vec::new(), ended.failures);
        for (index, played) in ended.runs.into_iter().enumerate() {
            match played {
                Some(Ok(run)) => runs.push((index, run)),
                Some(Err(failure)) => failures.push(failure),
                None => {}
            }
        }
        let interrupted = self.interrupt.is_cancelled();
        Ok(Played { runs, failures, interrupted, not_begun, left_out })
    }
}

/// The folder of a run: the one that was asked for, one within it where there are several documents, or a new one
/// among all runs.
fn folder_for(name: &str, asked: Option<&Path>, several: bool) -> Result<Folder, Failure> {
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

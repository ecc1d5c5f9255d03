//! Plays documents, some at once, each for itself.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sortie_detect::{Report, Run};
use sortie_engine::Watcher;
use sortie_engine::run::{Case, Folder, RunError, run};
use sortie_trace::format_time;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::progress::{Display, Progress};
use super::resolve::Prepared;
use super::signals;
use crate::console::Notes;
use crate::documents::Document;
use crate::failure::Failure;
use crate::render::write_json;

/// Where runs are kept when nobody says.
const RUNS: &str = ".sortie/runs";

/// How long runs that were ended at once may take to let go of their agents.
const LETTING_GO: Duration = Duration::from_secs(1);

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
        let fail = |error: io::Error| Failure::new(format!("cannot start: {error}"));
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(fail)?;
        let played = runtime.block_on(self.play_all()).map_err(fail);
        // A thread that reads standard input cannot be stopped, and need not be.
        runtime.shutdown_background();
        played
    }

    async fn play_all(self) -> io::Result<Played> {
        let at_once = CancellationToken::new();
        let terminal = self.notes.is_some_and(|notes| notes.terminal);
        signals::watch(self.interrupt.clone(), at_once.clone(), terminal)?;
        let several = self.prepared.len() > 1;
        let display = terminal.then(Display::new);
        let turns = Arc::new(Semaphore::new(self.at_once));
        let mut tasks = JoinSet::new();
        let count = self.prepared.len();
        for (index, Prepared { document, options }) in self.prepared.into_iter().enumerate() {
            let (turns, interrupt) = (turns.clone(), self.interrupt.clone());
            let folder = self.folder.clone();
            let watcher: Arc<dyn Watcher> = match self.notes {
                Some(notes) => Arc::new(Progress::new(&document, several, notes, display.clone())),
                None => Arc::new(()),
            };
            tasks.spawn(async move {
                // It is never closed, so everyone gets a turn, in order.
                let _turn = turns.acquire().await;
                if interrupt.is_cancelled() {
                    return (index, None);
                }
                let played = async {
                    let folder = folder_for(&document, folder.as_deref(), several)?;
                    let report = folder.report();
                    let case = Case { document: document.compiled, file: document.name, folder };
                    let run = run(case, options, watcher).await.map_err(|error| failure(&error))?;
                    keep(&report, &run).map_err(|error| Failure::at(&report, "write", &error))?;
                    Ok(run)
                };
                (index, Some(played.await))
            });
        }
        let mut ended: Vec<Option<Result<Run, Failure>>> = (0..count).map(|_| None).collect();
        let mut failures = Vec::new();
        loop {
            let task = tokio::select! {
                biased;
                () = at_once.cancelled() => break,
                task = tasks.join_next() => task,
            };
            match task {
                Some(Ok((index, played))) => ended[index] = played,
                Some(Err(error)) => {
                    failures.push(Failure::new(format!("a run died; this is a bug: {error}")));
                }
                None => break,
            }
        }
        if at_once.is_cancelled() {
            let unfinished = tasks.len();
            // What is dropped kills its agent.
            let _ = tokio::time::timeout(LETTING_GO, tasks.shutdown()).await;
            failures.push(Failure::new(format!("ended at once: {unfinished} without a report")));
        }
        let left_out = display.map_or(0, |display| display.finish());
        let not_begun = ended.iter().filter(|run| run.is_none()).count();
        let mut runs = Vec::new();
        for (index, played) in ended.into_iter().enumerate() {
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

fn failure(error: &RunError) -> Failure {
    Failure::new(error.to_string())
}

/// The folder of a run: the one that was asked for, one within it where there are several documents, or a new one
/// among all runs.
fn folder_for(document: &Document, asked: Option<&Path>, several: bool) -> Result<Folder, Failure> {
    let name = name(document);
    match asked {
        Some(folder) if several => Folder::create_within(folder, &name).map_err(|error| failure(&error)),
        Some(folder) => Folder::create(folder).map_err(|error| {
            failure(&error).help("what another run has left there is not written over; choose another folder")
        }),
        None => {
            ignored(Path::new(RUNS)).map_err(|error| Failure::at(RUNS, "write", &error))?;
            let time = format_time(SystemTime::now());
            let time: String = time.chars().take(19).filter(|letter| !"-:".contains(*letter)).collect();
            Folder::create_within(Path::new(RUNS), &format!("{time}Z-{name}"))
                .map_err(|error| failure(&error))
        }
    }
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
fn name(document: &Document) -> String {
    let id = document.compiled.document().attack.id.as_deref();
    let stem = || Path::new(&document.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = id.map(str::to_owned).or_else(stem).unwrap_or_default();
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = name.chars().filter(|letter| harmless(*letter)).take(64).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "document".to_owned() } else { name.to_owned() }
}

/// Writes the report of one run beside its trace.
fn keep(path: &Path, run: &Run) -> io::Result<()> {
    let mut text = Vec::new();
    write_json(&mut text, &Report::new(vec![run.clone()]))?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(&text)
}

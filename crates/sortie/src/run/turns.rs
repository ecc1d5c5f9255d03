//! Plays jobs, so many at once, each for itself, and says how each ends as it ends.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sortie_detect::Outcome;
use sortie_engine::Watcher;
use sortie_engine::run::{DocumentRun, Folder, RunError, run};
use sortie_report::Report;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::resolve::Prepared;
use super::signals;
use crate::failure::Failure;
use crate::render::write_json;

/// How long runs that were ended at once may take to let go of their agents.
const LETTING_GO: Duration = Duration::from_secs(1);

/// A document that is to be played, and who watches.
pub(super) struct Job {
    pub(super) prepared: Prepared,
    /// Gives the folder of the run, when its turn comes.
    pub(super) folder: Box<dyn FnOnce() -> Result<Folder, Failure> + Send>,
    pub(super) watcher: Arc<dyn Watcher>,
}

/// Several jobs that take turns.
pub(super) struct Turns {
    pub(super) jobs: Vec<Job>,
    /// How many at once.
    pub(super) at_once: usize,
    /// Cancelled by the first Ctrl-C; the same as in the options of every run.
    pub(super) interrupt: CancellationToken,
    /// Whether somebody reads standard error as it comes.
    pub(super) person: bool,
}

/// Is told whose turn it is. It must not block.
pub(super) trait Announcer: Send + Sync {
    /// The job at that position begins.
    fn begins(&self, index: usize);
    /// It has ended, one way or another.
    fn ended(&self, index: usize);
}

/// Announces nothing.
impl Announcer for () {
    fn begins(&self, _: usize) {}
    fn ended(&self, _: usize) {}
}

/// What became of jobs.
pub(super) struct Ended {
    /// In their order; `None` for those that were not begun, or not played to their end.
    pub(super) runs: Vec<Option<Result<Outcome, Failure>>>,
    /// What went wrong besides.
    pub(super) failures: Vec<Failure>,
}

impl Turns {
    /// Plays them all, in a runtime of their own.
    pub(super) fn play(self, announcer: Arc<dyn Announcer>) -> Result<Ended, Failure> {
        let fail = |error: io::Error| Failure::new(format!("cannot start: {error}"));
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(fail)?;
        let ended = runtime.block_on(async {
            let at_once = CancellationToken::new();
            signals::watch(self.interrupt.clone(), at_once.clone(), self.person)?;
            Ok(self.play_until(announcer, &at_once).await)
        });
        // A thread that reads standard input cannot be stopped, and need not be.
        runtime.shutdown_background();
        ended.map_err(fail)
    }

    /// Plays them all, unless somebody wants them to end at once.
    pub(super) async fn play_until(
        self,
        announcer: Arc<dyn Announcer>,
        at_once: &CancellationToken,
    ) -> Ended {
        let mut tasks = JoinSet::new();
        let mut runs: Vec<_> = self.jobs.iter().map(|_| None).collect();
        let mut failures = Vec::new();
        let mut waiting = self.jobs.into_iter().enumerate();
        loop {
            while tasks.len() < self.at_once
                && !self.interrupt.is_cancelled()
                && let Some((index, job)) = waiting.next()
            {
                let announcer = announcer.clone();
                tasks.spawn(async move {
                    announcer.begins(index);
                    let played = job.play().await;
                    announcer.ended(index);
                    (index, played)
                });
            }
            let task = tokio::select! {
                biased;
                () = at_once.cancelled() => break,
                task = tasks.join_next() => task,
            };
            match task {
                Some(Ok((index, played))) => runs[index] = Some(played),
                Some(Err(error)) => {
                    failures.push(Failure::new(format!("a run died; this is a bug: {error}")));
                }
                None => break,
            }
        }
        if at_once.is_cancelled() {
            let unfinished = tasks.len() + waiting.count();
            // What is dropped kills its agent.
            let _ = tokio::time::timeout(LETTING_GO, tasks.shutdown()).await;
            failures.push(Failure::new(format!("ended at once: {unfinished} without a report")));
        }
        Ended { runs, failures }
    }
}

impl Job {
    async fn play(self) -> Result<Outcome, Failure> {
        let Prepared { document, options } = self.prepared;
        let folder = (self.folder)()?;
        let report = folder.report();
        let case = DocumentRun { document: document.compiled, file: document.name, folder };
        let run = run(case, options, self.watcher).await.map_err(|error| failure(&error))?;
        keep(&report, &Report::new(vec![run.clone()]))?;
        Ok(run)
    }
}

pub(super) fn failure(error: &RunError) -> Failure {
    Failure::new(error.to_string())
}

/// Writes a report beside what it is about, for its owner only.
pub(crate) fn keep(path: &Path, report: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = Vec::new();
    write_json(&mut text, report)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(&text));
    written.map_err(|error| Failure::at(path, "write", &error))
}

//! Plays documents for whoever records them: nobody watches.

use std::sync::Arc;

use sortie_detect::Outcome;
use tokio_util::sync::CancellationToken;

use super::folders::{folder_of, name};
use super::resolve::Prepared;
use super::turns::{Job, Turns};
use crate::failure::Failure;

/// Documents that are to be played, each in a new folder among all runs.
pub(crate) struct Jobs {
    pub(crate) prepared: Vec<Prepared>,
    /// How many at once.
    pub(crate) at_once: usize,
    /// Cancelled by the first Ctrl-C; the same as in the options of every run.
    pub(crate) interrupt: CancellationToken,
}

/// What became of them.
pub(crate) struct Played {
    /// Those that were played, in the order in which they were prepared, each with its place there.
    pub(crate) runs: Vec<(usize, Outcome)>,
    /// Why others were not.
    pub(crate) failures: Vec<Failure>,
    /// The user did not want to wait.
    pub(crate) interrupted: bool,
}

impl Jobs {
    /// Plays them all.
    pub(crate) fn play(self) -> Result<Played, Failure> {
        let jobs = self.prepared.into_iter().map(|prepared| {
            let name = name(&prepared.document);
            Job { prepared, folder: Box::new(move || folder_of(&name, None)), watcher: Arc::new(()) }
        });
        let (at_once, interrupt) = (self.at_once, self.interrupt);
        let turns = Turns { jobs: jobs.collect(), at_once, interrupt: interrupt.clone(), person: false };
        let ended = turns.play(Arc::new(()))?;
        let (mut runs, mut failures) = (Vec::new(), ended.failures);
        for (index, played) in ended.runs.into_iter().enumerate() {
            match played {
                Some(Ok(run)) => runs.push((index, run)),
                Some(Err(failure)) => failures.push(failure),
                None => {}
            }
        }
        Ok(Played { runs, failures, interrupted: interrupt.is_cancelled() })
    }
}

//! Plays documents against practice agents, each against each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_detect::Outcome;
use sortie_engine::run::{Folder, RunOptions};
use sortie_practice::Behaviour;

use super::folders::{folder_of, name};
use super::progress::Counter;
use super::resolve::Prepared;
use super::turns::{Announcer, Job, Turns, failure};
use crate::console::Notes;
use crate::documents::Document;
use crate::failure::Failure;

/// Documents and agents that are to meet.
pub(crate) struct Matrix<'m> {
    pub(crate) documents: &'m [Document],
    pub(crate) agents: &'m [Behaviour],
    /// What is the same for every run.
    pub(crate) options: RunOptions,
    /// How many runs at once.
    pub(crate) at_once: usize,
    /// The folder for all of them; a new one among all runs, if nobody says.
    pub(crate) folder: Option<&'m Path>,
    pub(crate) notes: Notes,
}

/// What became of them.
pub(crate) struct Met {
    /// For each document, in their order, what became of it with each agent; `None` where it was not played to the end.
    pub(crate) runs: Vec<Vec<Option<Outcome>>>,
    /// Why some were not.
    pub(crate) failures: Vec<Failure>,
    /// The user did not want to wait.
    pub(crate) interrupted: bool,
    /// Holds a folder for each agent, and in there one for each document.
    pub(crate) folder: PathBuf,
}

impl Matrix<'_> {
    /// Plays them all. `purpose` is the name of a new folder.
    pub(crate) fn play(self, purpose: &str) -> Result<Met, Failure> {
        let interrupt = self.options.interrupt.clone();
        let pairs = self
            .documents
            .iter()
            .flat_map(|document| self.agents.iter().map(move |agent| (document, *agent)));
        let pairs: Vec<_> = pairs.collect();
        let mut jobs = Vec::new();
        // Nothing is made before everything fits.
        for (index, (document, agent)) in pairs.iter().enumerate() {
            let document = Document::clone(document);
            jobs.push((Prepared::against(*agent, document, index, self.options.clone())?, *agent));
        }
        let folder = folder_of(purpose, self.folder)?.path().to_owned();
        let jobs = jobs.into_iter().map(|(prepared, agent)| {
            let (parent, name) = (folder.join(agent.name()), name(&prepared.document));
            let folder = move || Folder::create_within(&parent, &name).map_err(|error| failure(&error));
            Job { prepared, folder: Box::new(folder), watcher: Arc::new(()) }
        });
        let turns = Turns {
            jobs: jobs.collect(),
            at_once: self.at_once,
            interrupt: interrupt.clone(),
            person: self.notes.terminal,
        };
        let counter = self.notes.terminal.then(|| {
            let named = pairs.iter().map(|(document, agent)| format!("{} with {agent}", name(document)));
            Arc::new(Counter::new(named.collect(), self.notes.width))
        });
        let announcer: Arc<dyn Announcer> = match &counter {
            Some(counter) => counter.clone(),
            None => Arc::new(()),
        };
        let ended = turns.play(announcer);
        if let Some(counter) = counter {
            counter.finish();
        }
        let ended = ended?;
        let mut failures = ended.failures;
        let mut runs = ended.runs.into_iter().map(|run| match run? {
            Ok(run) => Some(run),
            Err(failure) => {
                failures.push(failure);
                None
            }
        });
        let rows = self.documents.iter().map(|_| runs.by_ref().take(self.agents.len()).collect());
        let rows = rows.collect();
        drop(runs);
        Ok(Met { runs: rows, failures, interrupted: interrupt.is_cancelled(), folder })
    }
}

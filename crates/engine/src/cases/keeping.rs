//! Results reach the disk in a thread of its own, as many at once as there are.
//!
//! A disk takes as long for one line as for sixteen. While it takes some, others come; they go together next. Cases are played
//! meanwhile. `cargo xtask bench runs` guards what this costs.

use std::io;

use tokio::task::JoinHandle;

use super::result::CaseResult;
use super::results::{Results, ResultsError};

/// Takes results to the disk.
pub(super) struct Keeper {
    /// `None` while it is with the thread.
    results: Option<Results>,
    /// What came meanwhile.
    waiting: Vec<CaseResult>,
    writing: Option<JoinHandle<Written>>,
}

/// What the thread gives back: the file, what it was given, and whether that is on disk.
type Written = (Results, Vec<CaseResult>, Result<(), ResultsError>);

impl Keeper {
    pub(super) fn new(results: Results) -> Self {
        Self { results: Some(results), waiting: Vec::new(), writing: None }
    }

    /// Gives a result on its way.
    pub(super) fn add(&mut self, result: CaseResult) {
        self.waiting.push(result);
        self.write();
    }

    /// How many are not on disk and not on their way there either.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether all are on disk.
    pub(super) fn is_done(&self) -> bool {
        self.writing.is_none() && self.waiting.is_empty()
    }

    /// Those that have reached the disk next. It may be dropped while it waits without losing anything.
    pub(super) async fn kept(&mut self) -> Result<Vec<CaseResult>, ResultsError> {
        let Some(writing) = &mut self.writing else { return std::future::pending().await };
        let written = writing.await;
        self.writing = None;
        let (results, kept, written) = written.map_err(|broken| ResultsError::Io {
            path: "results.jsonl".into(),
            source: io::Error::other(broken),
        })?;
        self.results = Some(results);
        written?;
        self.write();
        Ok(kept)
    }

    /// What is on disk, once all is.
    pub(super) fn into_results(self) -> Option<Results> {
        self.results
    }

    fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(mut results) = self.results.take() else { return };
        let added = std::mem::take(&mut self.waiting);
        self.writing = Some(tokio::task::spawn_blocking(move || {
            let written = results.add(&added);
            (results, added, written)
        }));
    }
}

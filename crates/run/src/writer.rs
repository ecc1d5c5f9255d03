//! Outcomes reach the disk in a thread of its own, as many at once as there are.
//!
//! A disk takes as long for one line as for sixteen. While it takes some, others come; they go together next. Cases are played
//! meanwhile. `cargo xtask bench runs` guards what this costs.

use std::io;

use sortie_detect::Outcome;
use tokio::task::JoinHandle;

use crate::store::{RunStore, StoreError};

pub(crate) struct Writer {
    /// `None` while it is with the thread.
    store: Option<RunStore>,
    /// What came meanwhile.
    waiting: Vec<Outcome>,
    writing: Option<JoinHandle<Written>>,
}

/// What the thread gives back: the store, what it was given, and whether that is on disk.
type Written = (RunStore, Vec<Outcome>, Result<(), StoreError>);

impl Writer {
    pub(crate) fn new(store: RunStore) -> Self {
        Self { store: Some(store), waiting: Vec::new(), writing: None }
    }

    /// Gives an outcome on its way.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.waiting.push(outcome);
        self.write();
    }

    /// How many are not on disk and not on their way there either.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.writing.is_none() && self.waiting.is_empty()
    }

    /// Those that have reached the disk next, or why they have not: then the store only remembers them. It may be dropped
    /// while it waits without losing anything.
    pub(crate) async fn written(&mut self) -> Result<(Vec<Outcome>, Option<StoreError>), StoreError> {
        let Some(writing) = &mut self.writing else { return std::future::pending().await };
        let written = writing.await;
        self.writing = None;
        let (mut store, outcomes, written) = written.map_err(|broken| StoreError::Io {
            path: "results.jsonl".into(),
            source: io::Error::other(broken),
        })?;
        let lost = written.err();
        if lost.is_some() {
            store.remember(&outcomes);
        }
        self.store = Some(store);
        self.write();
        Ok((outcomes, lost))
    }

    pub(crate) fn into_store(self) -> Option<RunStore> {
        self.store
    }

    fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(mut store) = self.store.take() else { return };
        let added = std::mem::take(&mut self.waiting);
        self.writing = Some(tokio::task::spawn_blocking(move || {
            let written = store.add(&added);
            (store, added, written)
        }));
    }
}

//! What was asked and is not answered yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::actor::Working;
use crate::phase::Phase;

/// What became of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was answered; this is the result as indicators see it.
    Result(Value),
    /// It was answered with an error, as indicators see it.
    Error(Value),
    /// It was not answered, and why is recorded.
    Lost(Lost),
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// An HTTP status, and the beginning of what came with it.
    Status(u16, String),
    /// Nobody accepts connections any more.
    Refused(String),
    /// The exchange broke, or ended without an answer.
    Broken(String),
    /// Nothing came in time.
    TimedOut,
}

/// Requests by the key of their id.
#[derive(Debug, Default)]
pub(super) struct Pending {
    asked: Mutex<HashMap<String, Asked>>,
}

/// A request of ours.
#[derive(Debug)]
struct Asked {
    method: String,
    phase: Arc<Phase>,
    /// When there was last a sign of life.
    alive: Instant,
    /// Whoever waits. Nobody does after the time was up, but the answer may still come.
    waiting: Option<(oneshot::Sender<Outcome>, Working)>,
}

impl Pending {
    /// A request is about to be sent.
    pub(super) fn ask(
        &self,
        key: String,
        method: &str,
        phase: Arc<Phase>,
        working: Working,
    ) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        let asked = Asked {
            method: method.to_owned(),
            phase,
            alive: Instant::now(),
            waiting: Some((sender, working)),
        };
        self.lock().insert(key, asked);
        receiver
    }

    /// The phase in which a request was sent, and its method.
    pub(super) fn asked(&self, key: &str) -> Option<(Arc<Phase>, String)> {
        self.lock().get(key).map(|asked| (asked.phase.clone(), asked.method.clone()))
    }

    /// There is a sign of life.
    pub(super) fn alive(&self, key: &str) {
        if let Some(asked) = self.lock().get_mut(key) {
            asked.alive = Instant::now();
        }
    }

    /// There is a sign of life, and nobody knows of which request.
    pub(super) fn all_alive(&self) {
        let now = Instant::now();
        self.lock().values_mut().for_each(|asked| asked.alive = now);
    }

    /// When there was last a sign of life of a request that someone waits for.
    pub(super) fn last_alive(&self, key: &str) -> Option<Instant> {
        self.lock().get(key).filter(|asked| asked.waiting.is_some()).map(|asked| asked.alive)
    }

    /// It is answered, or never will be: whoever waits is told, and it is forgotten.
    pub(super) fn settle(&self, key: &str, outcome: Outcome) {
        let asked = self.lock().remove(key);
        if let Some((sender, _working)) = asked.and_then(|asked| asked.waiting) {
            // Whoever waited may have left with the run.
            let _ = sender.send(outcome);
        }
    }

    /// Nobody waits any longer. It is not forgotten, since its answer may still come.
    pub(super) fn give_up(&self, key: &str) {
        let waiting = self.lock().get_mut(key).and_then(|asked| asked.waiting.take());
        if let Some((sender, _working)) = waiting {
            let _ = sender.send(Outcome::Lost(Lost::TimedOut));
        }
    }

    /// Everything that someone waits for is lost. Whether there was anything is the answer.
    pub(super) fn lose_all(&self, why: &Lost) -> bool {
        let all = std::mem::take(&mut *self.lock());
        let mut any = false;
        for (sender, _working) in all.into_values().filter_map(|asked| asked.waiting) {
            any = true;
            let _ = sender.send(Outcome::Lost(why.clone()));
        }
        any
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

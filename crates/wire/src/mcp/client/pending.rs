//! What was asked and is not answered yet.

use std::collections::HashMap;
use std::time::Instant;

use tokio::sync::oneshot;

use super::session::{AskError, RpcAnswer};
use crate::Lock;

type Outcome = Result<RpcAnswer, AskError>;

/// Requests of ours by the key of their id. `C` is what the owner of a session keeps with each.
#[derive(Debug)]
pub(super) struct Pending<C>(pub(super) Lock<HashMap<String, Asked<C>>>);

#[derive(Debug)]
pub(super) struct Asked<C> {
    method: String,
    context: C,
    since: Instant,
    alive: Instant,
    /// Whoever waits. Nobody does after the time was up, but the answer may still come.
    waiting: Option<oneshot::Sender<Outcome>>,
}

impl<C: Clone> Pending<C> {
    pub(super) fn insert(&self, key: String, method: &str, context: C) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        let now = Instant::now();
        let asked =
            Asked { method: method.to_owned(), context, since: now, alive: now, waiting: Some(sender) };
        self.0.lock().insert(key, asked);
        receiver
    }

    pub(super) fn get(&self, key: &str) -> Option<(C, String)> {
        self.0.lock().get(key).map(|asked| (asked.context.clone(), asked.method.clone()))
    }

    /// There is a sign of life: of one request, or of nobody knows which.
    pub(super) fn alive(&self, key: Option<&str>) {
        let now = Instant::now();
        let mut asked = self.0.lock();
        match key {
            Some(key) => asked.get_mut(key).into_iter().for_each(|asked| asked.alive = now),
            None => asked.values_mut().for_each(|asked| asked.alive = now),
        }
    }

    /// When a request that someone waits for was sent, and when there was last a sign of life of it.
    pub(super) fn times(&self, key: &str) -> Option<(Instant, Instant)> {
        let asked = self.0.lock();
        asked.get(key).filter(|asked| asked.waiting.is_some()).map(|asked| (asked.since, asked.alive))
    }

    /// It is answered, or never will be: whoever waits is told, and it is forgotten.
    pub(super) fn settle(&self, key: &str, outcome: Outcome) {
        let asked = self.0.lock().remove(key);
        if let Some(sender) = asked.and_then(|asked| asked.waiting) {
            // Whoever waited may have left.
            let _ = sender.send(outcome);
        }
    }

    /// Nobody waits any longer for a request, or for any. They are not forgotten, since answers may still come. Says
    /// whether somebody waited.
    pub(super) fn give_up(&self, key: Option<&str>, why: &AskError) -> bool {
        let mut asked = self.0.lock();
        let waiting: Vec<_> = match key {
            Some(key) => asked.get_mut(key).and_then(|asked| asked.waiting.take()).into_iter().collect(),
            None => asked.values_mut().filter_map(|asked| asked.waiting.take()).collect(),
        };
        drop(asked);
        let any = !waiting.is_empty();
        for sender in waiting {
            let _ = sender.send(Err(why.clone()));
        }
        any
    }
}

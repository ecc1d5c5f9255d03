//! What we asked, and wait to hear.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::phase::ActorPhase;

/// How many questions may be open. A peer that never answers makes us forget the oldest.
const MOST: usize = 4096;

/// A question of ours.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) phase: Arc<ActorPhase>,
    /// The peer that was asked; `None` where an answer comes without saying from whom.
    pub(super) peer: Option<String>,
    /// Who waits for the answer.
    pub(super) waiting: Option<oneshot::Sender<Value>>,
}

/// Our questions that were not answered, by their ids.
#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<Questions>);

#[derive(Debug, Default)]
struct Questions {
    by_id: HashMap<String, Asked>,
    order: VecDeque<String>,
}

impl Pending {
    pub(super) fn ask(&self, id: String, asked: Asked) {
        let mut questions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        questions.order.push_back(id.clone());
        questions.by_id.insert(id, asked);
        while questions.order.len() > MOST {
            if let Some(oldest) = questions.order.pop_front() {
                questions.by_id.remove(&oldest);
            }
        }
    }

    /// The question that a peer answers. Nobody answers for another.
    pub(super) fn answered(&self, id: &str, peer: &str) -> Option<Asked> {
        let mut questions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = questions.by_id.get(id)?;
        if asked.peer.as_deref().is_some_and(|asked| asked != peer) {
            return None;
        }
        questions.order.retain(|open| open != id);
        questions.by_id.remove(id)
    }
}

//! The conversation so far, for indicators that are about more than one message.

use std::collections::HashMap;

use serde_json::Value;
use sortie_bindings::carries_transcript;
use sortie_oatf::model::Mode;

use super::{Limits, Note};
use crate::record::{Message, Sender};
use crate::transcript::Transcriber;

/// The conversations of so many actors are told.
const MAX_ACTORS: usize = 64;

/// All transcripts that are handed out take at most so many bytes: each repeats those before it.
const MAX_TOLD: usize = 512 * 1024 * 1024;

/// What each client actor and its peer have said to each other.
#[derive(Clone, Debug)]
pub(super) struct Conversations {
    /// By actor: the conversation, and its bytes on the wire.
    actors: HashMap<String, (Transcriber, usize)>,
    limit: usize,
    left: usize,
}

impl Conversations {
    pub(super) fn new(limits: Limits) -> Self {
        Self { actors: HashMap::new(), limit: limits.transcript_bytes, left: MAX_TOLD }
    }

    /// Adds a message. Gives the transcript so far when the message is one that carries it and nothing that was asked waits for
    /// its answer; null when the conversation is too long to be told.
    pub(super) fn observe(&mut self, message: &Message, notes: &mut Vec<Note>) -> Option<Value> {
        if !Mode::of(&message.mode).is_client() {
            return None;
        }
        let surface = message.surfaces.first()?;
        let carries = message.sender == Sender::Agent && carries_transcript(&message.protocol, surface);
        let is_full = self.actors.len() >= MAX_ACTORS && !self.actors.contains_key(&message.actor);
        let mut told = None;
        if !is_full {
            let (transcriber, bytes) = self.actors.entry(message.actor.clone()).or_default();
            *bytes = bytes.saturating_add(message.content.text().len());
            if *bytes <= self.limit {
                transcriber.observe(message);
                if !carries || !transcriber.is_complete() {
                    return None;
                }
                let left = self.left.checked_sub(*bytes);
                told = left.and_then(|_| transcriber.transcript().ok());
                self.left = left.unwrap_or_default();
            }
        }
        if told.is_none() && carries {
            notes.push(Note::ConversationTooLong);
        }
        carries.then(|| told.map_or(Value::Null, |transcript| transcript.to_value()))
    }
}

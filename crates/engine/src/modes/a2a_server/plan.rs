//! What a phase serves, made ready once.

use serde_json::Value;

use super::card;
use crate::modes::client::Responses;
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::synthesis::{Shape, Synthesis};

/// What a phase serves.
#[derive(Debug)]
pub(super) struct Plan {
    /// The agent card.
    pub(super) card: WirePayload,
    responses: Responses,
    /// The content of each entry, and what is to be generated instead of it.
    answers: Vec<(Option<WirePayload>, Option<Synthesis>)>,
}

impl Plan {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, String> {
        let card = phase.key("agent_card").filter(|card| !card.value().is_null());
        let responses = Responses::new(phase.key("task_responses").as_ref(), "task_responses")?;
        let content = |entry: &WirePayload| entry.get("content").filter(|content| !content.value().is_null());
        let answers =
            responses.entries.iter().map(|entry| (content(entry), Synthesis::of(entry, Shape::Task)));
        Ok(Self { card: card.unwrap_or_else(card::minimal), answers: answers.collect(), responses })
    }

    /// What answers a message: content, and what is to be generated instead of it. Without any, the answer is an empty task.
    pub(super) fn response(&self, params: &Value) -> (Option<&WirePayload>, Option<&Synthesis>) {
        let answer = self.responses.position(params).and_then(|at| self.answers.get(at));
        answer.map_or((None, None), |(content, synthesis)| (content.as_ref(), synthesis.as_ref()))
    }
}

//! What a phase serves, made ready once.

use serde_json::Value;
use sortie_oatf::compile::CompiledResponses;
use sortie_oatf::model::ResponseEntry;

use super::card;
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::synthesis::{Shape, Synthesis};

/// What a phase serves.
#[derive(Debug)]
pub(super) struct Plan {
    /// The agent card.
    pub(super) card: WirePayload,
    /// `task_responses`: which entry answers, and with what.
    responses: CompiledResponses,
    contents: Vec<Option<WirePayload>>,
    syntheses: Vec<Option<Synthesis>>,
}

impl Plan {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, String> {
        let present = |key: &str| phase.key(key).filter(|state| !state.value().is_null());
        let list = present("task_responses");
        if list.as_ref().is_some_and(|list| !list.value().is_array()) {
            return Err("`task_responses` is no list".to_owned());
        }
        let list = list.map(|list| list.items()).unwrap_or_default();
        let wrong = |error: &dyn std::fmt::Display| format!("`task_responses`: {error}");
        let entries = list.iter().map(|entry| ResponseEntry::from_value(entry.value()));
        let entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
        Ok(Self {
            card: present("agent_card").unwrap_or_else(card::minimal),
            responses: CompiledResponses::new(&entries).map_err(|error| wrong(&error))?,
            contents: list
                .iter()
                .map(|entry| entry.get("content").filter(|content| !content.value().is_null()))
                .collect(),
            syntheses: list.iter().map(|entry| Synthesis::of(entry, Shape::Task)).collect(),
        })
    }

    /// What answers a message: content, and what is to be generated instead of it. Without any, the answer is an empty task.
    pub(super) fn response(&self, params: &Value) -> (Option<&WirePayload>, Option<&Synthesis>) {
        let Some(chosen) = self.responses.select(params) else { return (None, None) };
        let content = self.contents.get(chosen).and_then(Option::as_ref);
        (content, self.syntheses.get(chosen).and_then(Option::as_ref))
    }
}

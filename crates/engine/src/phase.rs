//! Phases of an actor, ready to be played.

use serde_json::Value;
use sortie_oatf::compile::{CompiledActor, CompiledExtractor, CompiledTrigger};
use sortie_oatf::model::{Action, ExtractorSource};
use sortie_syntax::ExactNumbers;

use crate::payload::WirePayload;

/// A phase of an actor: what it serves or sends, and until when.
#[derive(Debug)]
pub struct ActorPhase {
    /// Its position among the actor's phases.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its state: its own, or the one it inherits.
    pub state: WirePayload,
    /// What is done on entry.
    pub on_enter: Vec<Action>,
    /// Whether no other follows.
    pub is_last: bool,
    pub(crate) trigger: Option<CompiledTrigger>,
    pub(crate) extractors: Vec<CompiledExtractor>,
}

impl ActorPhase {
    pub(crate) fn all(actor: &sortie_oatf::model::Actor, compiled: &CompiledActor) -> Vec<Self> {
        let mut state = (Value::Null, ExactNumbers::default());
        let phases = actor.phases.iter().zip(&compiled.phases).enumerate();
        let phases = phases.map(|(index, (phase, compiled))| {
            if let Some(own) = &phase.state {
                state = (own.clone(), phase.state_numbers.clone());
            }
            Self {
                index,
                name: phase.name.clone().unwrap_or_else(|| format!("phase-{}", index + 1)),
                state: WirePayload::new(state.0.clone(), &state.1, ""),
                on_enter: phase.on_enter.clone().unwrap_or_default(),
                is_last: index + 1 == actor.phases.len(),
                trigger: compiled.trigger.clone(),
                extractors: compiled.extractors.clone(),
            }
        });
        phases.collect()
    }

    /// The one phase of an actor that only writes down what passes.
    pub(crate) fn recording() -> Self {
        Self {
            index: 0,
            name: "recorded".to_owned(),
            state: WirePayload::plain(Value::Null),
            on_enter: Vec::new(),
            is_last: true,
            trigger: None,
            extractors: Vec::new(),
        }
    }

    /// A structural key of the state.
    pub fn key(&self, key: &str) -> Option<WirePayload> {
        self.state.get(key)
    }

    /// Whether its time ends it, whatever is said.
    pub(crate) fn has_timer(&self) -> bool {
        self.trigger.as_ref().and_then(CompiledTrigger::after).is_some()
    }

    /// Whether it captures anything from this half of an exchange.
    pub(crate) fn extracts(&self, source: ExtractorSource) -> bool {
        self.extractors.iter().any(|extractor| extractor.source == source)
    }
}

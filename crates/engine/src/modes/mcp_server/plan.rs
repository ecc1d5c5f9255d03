//! What a phase serves, compiled once.

use std::sync::Arc;

use serde_json::Value;

use super::callable::{Callables, What};
use super::elicitation::Elicitation;
use super::identity::Identity;
use super::resources::Resources;
use crate::actor::ActorState;
use crate::modes::StartError;
use crate::phase::ActorPhase;

/// What a phase serves.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) identity: Identity,
    pub(super) tools: Callables,
    pub(super) prompts: Callables,
    pub(super) resources: Resources,
    pub(super) elicitations: Vec<Elicitation>,
}

impl Plan {
    /// The plans of all phases of an actor, by their index.
    pub(super) fn all(actor: &ActorState) -> Result<Vec<Self>, StartError> {
        let plan = |phase: &Arc<ActorPhase>| {
            Self::new(phase).map_err(|reason| StartError::State { phase: phase.name.clone(), reason })
        };
        actor.phases().iter().map(plan).collect()
    }

    fn new(phase: &ActorPhase) -> Result<Self, String> {
        Ok(Self {
            identity: Identity::new(phase),
            tools: Callables::new(phase.key("tools"), What::Tool)?,
            prompts: Callables::new(phase.key("prompts"), What::Prompt)?,
            resources: Resources::new(phase.key("resources"), phase.key("resource_templates")),
            elicitations: Elicitation::all(phase.key("elicitations"))?,
        })
    }

    /// The questions that are asked during a call with these params, in order.
    pub(super) fn questions(&self, params: &Value) -> Vec<usize> {
        let indexed = self.elicitations.iter().enumerate();
        indexed.filter(|(_, elicitation)| elicitation.applies(params)).map(|(index, _)| index).collect()
    }
}

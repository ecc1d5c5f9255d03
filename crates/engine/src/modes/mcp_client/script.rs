//! What each phase of a document asks of an MCP client.

use crate::modes::actions::Action;
use crate::modes::responses::Responses;
use crate::payload::WirePayload;
use crate::phase::ActorPhase;

/// What a phase does, read once, before anything is said.
#[derive(Debug)]
pub(super) struct Script {
    /// What it asks, in order.
    pub(super) actions: Vec<Action>,
    pub(super) sampling: Responses,
    pub(super) elicitation: Responses,
    pub(super) roots: Option<WirePayload>,
}

impl Script {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, String> {
        Ok(Self {
            actions: Action::all(phase)?,
            sampling: Responses::new(phase.key("sampling_responses").as_ref(), "sampling_responses")?,
            elicitation: Responses::new(
                phase.key("elicitation_responses").as_ref(),
                "elicitation_responses",
            )?,
            roots: phase.key("roots").filter(|roots| !roots.value().is_null()),
        })
    }
}

//! What each phase of a document asks of an MCP client.

use crate::modes::responses::Responses;
use crate::payload::Payload;
use crate::phase::Phase;

/// What a phase does, read once, before anything is said.
#[derive(Debug)]
pub(super) struct Script {
    /// What it asks, in order.
    pub(super) actions: Vec<Action>,
    pub(super) sampling: Responses,
    pub(super) elicitation: Responses,
    pub(super) roots: Option<Payload>,
}

/// Something to send.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) method: String,
    pub(super) params: Option<Payload>,
}

impl Script {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &Phase) -> Result<Self, String> {
        let actions = match phase.key("actions") {
            Some(list) if list.value().is_array() => list.items(),
            Some(other) if !other.value().is_null() => return Err("`actions` is no list".to_owned()),
            _ => Vec::new(),
        };
        let actions = actions.iter().enumerate().map(|(at, action)| {
            let method = action.value().get("method").and_then(|method| method.as_str());
            let method = method.ok_or_else(|| format!("action {} has no `method`", at + 1))?.to_owned();
            Ok(Action { method, params: action.get("params") })
        });
        Ok(Self {
            actions: actions.collect::<Result<_, String>>()?,
            sampling: Responses::new(phase.key("sampling_responses").as_ref(), "sampling_responses")?,
            elicitation: Responses::new(
                phase.key("elicitation_responses").as_ref(),
                "elicitation_responses",
            )?,
            roots: phase.key("roots").filter(|roots| !roots.value().is_null()),
        })
    }
}

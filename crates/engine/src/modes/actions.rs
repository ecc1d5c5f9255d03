//! The actions of a client phase, in the order in which they are sent.

use crate::actor::{ActorState, EntryAction};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;

/// Something that a document sends.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) method: String,
    pub(crate) params: Option<WirePayload>,
}

/// An action that is ready for the wire.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) method: String,
    /// JSON text.
    pub(crate) params: Option<String>,
}

impl Action {
    /// The `actions` of a phase. What is wrong with them is said as a sentence.
    pub(crate) fn all(phase: &ActorPhase) -> Result<Vec<Self>, String> {
        let list = match phase.key("actions") {
            Some(list) if list.value().is_array() => list.items(),
            Some(other) if !other.value().is_null() => return Err("`actions` is no list".to_owned()),
            _ => Vec::new(),
        };
        let actions = list.iter().enumerate().map(|(at, action)| {
            let method = action.value().get("method").and_then(|method| method.as_str());
            let method = method.ok_or_else(|| format!("action {} has no `method`", at + 1))?.to_owned();
            Ok(Self { method, params: action.get("params") })
        });
        actions.collect()
    }

    /// The action with its templates filled. `None` when that cannot be done, which was warned about.
    pub(crate) fn step(&self, actor: &ActorState) -> Option<Step> {
        let params = match &self.params {
            Some(params) => Some(actor.fill(params, None, None).ok()?.json.into_owned()),
            None => None,
        };
        Some(Step { method: self.method.clone(), params })
    }
}

impl Step {
    /// An entry action, when it is one that every mode has.
    pub(crate) fn of_entry(action: &EntryAction) -> Option<Self> {
        match action {
            EntryAction::Send { method, params } => Some(Self {
                method: method.clone(),
                params: params.as_ref().map(|params| params.text().to_owned()),
            }),
            EntryAction::Other { .. } => None,
        }
    }
}

/// Warns that the timer of a phase has left something unsent.
pub(crate) fn left_out(actor: &ActorState, phase: &ActorPhase, count: usize) {
    if count > 0 {
        actor.warn(&format!("the time of phase `{}` was up before {count} of its actions", phase.name));
    }
}

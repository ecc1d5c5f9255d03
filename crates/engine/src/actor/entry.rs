//! What an actor does on entering a phase, and how its templates are filled.

use std::borrow::Cow;

use serde_json::Value;
use sortie_oatf::model::{ActionKind, LogLevel};

use super::ActorState;
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;

/// An entry action that a binding carries out.
#[derive(Clone, Debug)]
pub enum EntryAction {
    /// `send`: a method and its params.
    Send {
        /// The method.
        method: String,
        /// Its params, ready for the wire ([`WirePayload::text`]).
        params: Option<WirePayload>,
    },
    /// One that a binding defines: its key and its value.
    Other {
        /// The key (`send_push_notification`).
        key: String,
        /// The value, ready for the wire ([`WirePayload::text`]).
        value: WirePayload,
    },
}

impl ActorState {
    /// The entry actions with their templates filled; log lines are written at once.
    pub(super) fn entry_actions(&self, phase: &ActorPhase) -> Vec<EntryAction> {
        let mut actions = Vec::new();
        for action in &phase.on_enter {
            let whole = |value: &Value, pointer: &str| {
                self.filled(&WirePayload::new(value.clone(), &action.numbers, pointer), None, None).ok()
            };
            match &action.kind {
                ActionKind::Log(log) => {
                    let level = log.level.unwrap_or(LogLevel::Info).as_str();
                    let text = self.filled(&WirePayload::plain(log.message.as_str().into()), None, None);
                    if let Some(text) = text.ok().as_ref().and_then(|text| text.value().as_str()) {
                        self.context.recorder.log(&self.name, level, text);
                    }
                }
                ActionKind::Send(send) => {
                    let params = send.params.as_ref().map(|params| whole(params, "/send/params"));
                    // Params that cannot be filled are no params: a warning says so, and nothing is sent.
                    let Some(params) = params.map_or(Some(None), |params| params.map(Some)) else { continue };
                    actions.push(EntryAction::Send { method: send.method.clone(), params });
                }
                ActionKind::Other(other) => {
                    for (key, value) in other {
                        if let Some(value) = whole(value, &format!("/{key}")) {
                            actions.push(EntryAction::Other { key: key.clone(), value });
                        }
                    }
                }
            }
        }
        actions
    }

    /// The text of a payload with its templates filled, ready for the wire.
    pub fn fill<'p>(
        &self,
        payload: &'p WirePayload,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<Cow<'p, str>, TooLarge> {
        // No map is made for content that refers to nothing, which is nearly all of it.
        if !payload.has_templates() {
            return Ok(Cow::Borrowed(payload.text()));
        }
        Ok(Cow::Owned(self.filled(payload, request, response)?.text().to_owned()))
    }

    /// Fills the templates of a payload; references that stand for nothing become warnings (W-004).
    fn filled(
        &self,
        payload: &WirePayload,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<WirePayload, TooLarge> {
        let filled = payload.filled(&self.context.extracted.seen_by(&self.name), request, response);
        let (filled, unresolved) = filled.inspect_err(|error| self.warn(&error.to_string()))?;
        for unresolved in unresolved {
            self.warn(&format!("W-004: {unresolved}"));
        }
        Ok(filled)
    }
}

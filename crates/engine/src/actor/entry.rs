//! What an actor does on entering a phase, and how its templates are filled.

use std::collections::HashMap;

use serde_json::Value;
use sortie_oatf::model::{ActionKind, LogLevel};

use super::ActorState;
use crate::payload::{Filled, Scope, TooLarge, WirePayload};
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
                self.filled(&WirePayload::new(value.clone(), &action.numbers, pointer))
            };
            match &action.kind {
                ActionKind::Log(log) => {
                    let level = log.level.unwrap_or(LogLevel::Info).as_str();
                    let text = self.filled(&WirePayload::plain(log.message.as_str().into()));
                    if let Some(text) = text.as_ref().and_then(|text| text.value().as_str()) {
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

    fn filled(&self, payload: &WirePayload) -> Option<WirePayload> {
        let filled = payload.filled(Scope { extracted: &self.seen(), request: None, response: None });
        match filled {
            Ok((filled, unresolved)) => {
                self.warn_unresolved(&unresolved);
                Some(filled)
            }
            Err(error) => {
                self.warn(&error.to_string());
                None
            }
        }
    }

    /// Fills the templates of a payload; references that stand for nothing become warnings (W-004).
    pub fn fill<'p>(
        &self,
        payload: &'p WirePayload,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<Filled<'p>, TooLarge> {
        // No map is made for content that refers to nothing, which is nearly all of it.
        let extracted = if payload.has_templates() { self.seen() } else { HashMap::new() };
        let filled = payload.fill(Scope { extracted: &extracted, request, response });
        match &filled {
            Ok(filled) => self.warn_unresolved(&filled.unresolved),
            Err(error) => self.warn(&error.to_string()),
        }
        filled
    }

    fn warn_unresolved(&self, unresolved: &[String]) {
        for unresolved in unresolved {
            self.warn(&format!("W-004: {unresolved}"));
        }
    }

    fn seen(&self) -> HashMap<String, String> {
        self.context.extracted.seen_by(&self.name)
    }
}

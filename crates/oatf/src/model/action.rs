//! What an actor does when it enters a phase.

use indexmap::IndexMap;
use serde_json::Value;
use sortie_syntax::ExactNumbers;

use super::{Extensions, LogLevel};

/// An entry action.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// What it does.
    pub kind: ActionKind,
    /// Its `x-` fields.
    pub extensions: Extensions,
    /// Numbers in it that [`Value`] cannot print as written, by pointers from the action (`/send/params/price`).
    pub numbers: ExactNumbers,
}

/// What an entry action does.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// Sends a protocol message.
    Send(SendAction),
    /// Writes a log line.
    Log(LogAction),
    /// Something a binding defines: one key (V-041) and its value.
    Other(IndexMap<String, Value>),
}

impl ActionKind {
    /// The keys that say what the action does, in source order: one, in a valid document.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::Send(_) => vec!["send"],
            Self::Log(_) => vec!["log"],
            Self::Other(actions) => actions.keys().map(String::as_str).collect(),
        }
    }
}

/// The `send` action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendAction {
    /// The protocol method.
    pub method: String,
    /// Its parameters, put on the wire untouched.
    pub params: Option<Value>,
}

/// The `log` action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogAction {
    /// The text; templates are filled.
    pub message: String,
    /// How loud.
    pub level: Option<LogLevel>,
}

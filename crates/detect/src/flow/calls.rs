//! Which tool a message calls, or answers a call of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use serde::Deserialize;
use serde_json::Value;
use sortie_trace::{Direction, Kind, Message};

/// Calls that are not answered yet. Whoever makes more is no longer told apart.
const MOST_CALLS: usize = 4096;

/// The tools of calls that wait for their answers.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolCalls {
    /// By a digest of actor, connection and id.
    waiting: HashMap<u64, String>,
    /// The last call, for answers without an id.
    last: Option<String>,
    is_full: bool,
}

/// As much of a message as names a tool. JSON-RPC has it in `params`; where only those were recorded, they are the message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedCall<'j> {
    #[serde(borrow)]
    params: Option<NamedParams<'j>>,
    #[serde(borrow)]
    name: Option<Cow<'j, str>>,
    #[serde(borrow, rename = "toolCallId")]
    tool_call_id: Option<Cow<'j, str>>,
    #[serde(borrow, rename = "toolCallName")]
    tool_call_name: Option<Cow<'j, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedParams<'j> {
    #[serde(borrow)]
    name: Option<Cow<'j, str>>,
}

impl ToolCalls {
    /// Whether calls were left out.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The tool of a message; `None` where it is about none, or nobody knows which.
    pub(super) fn tool_of(&mut self, message: &Message) -> Option<String> {
        let is = |start: &str| message.surfaces.iter().any(|surface| surface.starts_with(start));
        if is("tool_call_") {
            return self.streamed(message);
        }
        if !is("tools/call") {
            return None;
        }
        let key = message.id.as_ref().map(|id| key(&message.actor, &message.connection, &id.to_string()));
        if message.direction == Direction::Response {
            let waiting = key.and_then(|key| {
                // A stream may bring more before the answer that ends the call.
                let is_last = message.kind != Kind::Event;
                if is_last { self.waiting.remove(&key) } else { self.waiting.get(&key).cloned() }
            });
            return waiting.or_else(|| self.last.clone());
        }
        let text = message.content.text();
        let name = serde_json::from_str::<NamedCall<'_>>(&text).ok().and_then(|call| {
            let of_params = call.params.and_then(|params| params.name);
            of_params.or(call.name).map(Cow::into_owned)
        });
        let name = name.or_else(|| named_twice(&text))?;
        self.remember(key, &name);
        self.last = Some(name.clone());
        Some(name)
    }

    /// The tool of an event of AG-UI. Only the first of a call names it.
    fn streamed(&mut self, message: &Message) -> Option<String> {
        let text = message.content.text();
        let call = serde_json::from_str::<NamedCall<'_>>(&text).ok()?;
        let id = call.tool_call_id.map(|id| key(&message.actor, "", &id));
        match call.tool_call_name {
            Some(name) => {
                self.remember(id, &name);
                Some(name.into_owned())
            }
            None => self.waiting.get(&id?).cloned(),
        }
    }

    fn remember(&mut self, key: Option<u64>, name: &str) {
        let Some(key) = key else { return };
        if self.waiting.len() < MOST_CALLS || self.waiting.contains_key(&key) {
            self.waiting.insert(key, name.to_owned());
        } else {
            self.is_full = true;
        }
    }
}

fn key(actor: &str, connection: &str, id: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((actor, connection, id))
}

/// The name in a message that has a member twice: the last counts, as it does for whoever reads it.
fn named_twice(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let name = value.get("params").and_then(|params| params.get("name")).or_else(|| value.get("name"));
    name.and_then(Value::as_str).map(str::to_owned)
}

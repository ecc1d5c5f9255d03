//! What an agent said in a run, as the messages that the next run begins with.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::event::Event;

/// How many messages and calls are kept. People and models say less in one run.
const MAX_ITEMS: usize = 1000;

/// What an agent has said and called so far in one run.
///
/// It is kept as long as it is no longer than it may be; then it is [cut](Self::is_cut), and says nothing more.
#[derive(Debug, Default)]
pub struct Transcript {
    limit: usize,
    bytes: usize,
    cut: bool,
    pub(super) messages: Vec<Message>,
    calls: Vec<Call>,
    /// The whole conversation as the agent sees it, when it has told.
    snapshot: Option<Vec<Box<RawValue>>>,
    last_text: Option<String>,
    last_call: Option<String>,
}

#[derive(Debug)]
pub(super) struct Message {
    id: String,
    role: String,
    text: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// `toolCallId`.
    pub id: String,
    /// `toolCallName`.
    pub name: String,
    /// The pieces of its arguments, joined.
    pub arguments: String,
    /// Whether the agent told the result itself.
    pub answered: bool,
    /// The message that it belongs to.
    pub parent: String,
}

impl Transcript {
    /// Nothing was said. It keeps so many bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Takes note of an event, and of its data for the one that carries messages. Says which call it begins.
    pub fn observe(&mut self, event: &Event, data: &[u8]) -> Option<&Call> {
        if self.cut {
            return None;
        }
        let grown = match event.name.as_deref()? {
            "messages_snapshot" => data.len(),
            _ => event.delta.as_ref().map_or(0, String::len) + 64,
        };
        self.bytes += grown;
        if self.bytes > self.limit || self.messages.len() + self.calls.len() > MAX_ITEMS {
            *self = Self { cut: true, ..Self::default() };
            return None;
        }
        let before = self.calls.len();
        self.take(event, data);
        self.calls.get(before)
    }

    /// Whether it became too long to be kept.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The calls that nobody has answered, of those tools.
    pub fn unanswered<'t>(&'t self, tools: &'t [String]) -> impl Iterator<Item = &'t Call> {
        self.calls.iter().filter(|call| !call.answered && tools.contains(&call.name))
    }

    /// What it adds to a conversation, as JSON texts; all of the conversation when the agent has told it.
    pub(super) fn messages(&self) -> (Option<&[Box<RawValue>]>, Vec<String>) {
        let id = |message: &RawValue| match serde_json::from_str::<Value>(message.get()) {
            Ok(Value::Object(mut message)) => message.remove("id"),
            _ => None,
        };
        let told: HashSet<_> = self.snapshot.iter().flatten().filter_map(|message| id(message)).collect();
        let untold = self.messages.iter().filter(|message| !told.contains(&Value::from(message.id.as_str())));
        let messages = untold.map(|message| {
            let mut object = json!({"id": message.id, "role": message.role});
            if let Some(text) = &message.text {
                object["content"] = text.as_str().into();
            }
            let calls = self.calls.iter().filter(|call| call.parent == message.id).map(Call::json);
            let calls: Vec<_> = calls.collect();
            if !calls.is_empty() {
                object["toolCalls"] = calls.into();
            }
            object.to_string()
        });
        (self.snapshot.as_deref(), messages.collect())
    }

    fn take(&mut self, event: &Event, data: &[u8]) -> Option<()> {
        match event.name.as_deref()? {
            "text_message_start" | "text_message_content" => self.text(event.message_id.clone()?, event),
            "text_message_chunk" => {
                let id = event.message_id.clone().or_else(|| self.last_text.clone())?;
                self.text(id, event);
            }
            "tool_call_start" | "tool_call_args" => self.call(event.call_id.as_ref()?, event),
            "tool_call_chunk" => {
                let id = event.call_id.clone().or_else(|| self.last_call.clone())?;
                self.call(&id, event);
            }
            "tool_call_result" => {
                let id = event.call_id.as_ref()?;
                self.calls.iter_mut().find(|call| call.id == *id)?.answered = true;
            }
            "messages_snapshot" => {
                #[derive(serde::Deserialize)]
                struct Snapshot {
                    messages: Vec<Box<RawValue>>,
                }
                self.snapshot = serde_json::from_slice(data).ok().map(|Snapshot { messages }| messages);
            }
            _ => {}
        }
        Some(())
    }

    fn text(&mut self, id: String, event: &Event) {
        self.last_text = Some(id.clone());
        let message = self.message(id, event.role.as_deref().unwrap_or("assistant"));
        message.text.get_or_insert_default().push_str(event.delta.as_deref().unwrap_or_default());
    }

    fn call(&mut self, id: &str, event: &Event) {
        self.last_call = Some(id.to_owned());
        if !self.calls.iter().any(|call| call.id == id) {
            let Some(name) = event.call_name.clone() else { return };
            let parent = event.parent_id.clone().unwrap_or_else(|| id.to_owned());
            // A call belongs to what the agent said, and to nothing else.
            let parent = match self.messages.iter().find(|message| message.id == parent) {
                Some(message) if message.role != "assistant" => id.to_owned(),
                _ => parent,
            };
            self.message(parent.clone(), "assistant");
            self.calls.push(Call { id: id.to_owned(), name, parent, ..Call::default() });
        }
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.arguments.push_str(event.delta.as_deref().unwrap_or_default());
        }
    }

    fn message(&mut self, id: String, role: &str) -> &mut Message {
        let at = self.messages.iter().position(|message| message.id == id).unwrap_or_else(|| {
            self.messages.push(Message { id, role: role.to_owned(), text: None });
            self.messages.len() - 1
        });
        &mut self.messages[at]
    }
}

impl Call {
    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        })
    }
}

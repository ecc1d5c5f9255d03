//! What an agent said in a run, put together from its events.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::event::{AgentEvent, Stream, StreamStep};

/// How many messages and calls are kept. People and models say less in one run.
const MAX_ITEMS: usize = 10_000;

/// What an agent has said and called so far in one run.
///
/// It is kept as long as it is no longer than it may be; then it is [cut](Self::is_cut), and says nothing more.
#[derive(Clone, Debug, Default)]
pub struct AgentRun {
    limit: usize,
    bytes: usize,
    cut: bool,
    messages: Vec<Said>,
    calls: Vec<AgentCall>,
    /// The whole conversation as the agent sees it, when it has told.
    snapshot: Option<Vec<Box<RawValue>>>,
    last_text: Option<String>,
    last_call: Option<String>,
    error: Option<String>,
    is_over: bool,
}

/// A message of the agent. One without a text carries calls.
#[derive(Clone, Debug)]
struct Said {
    id: String,
    role: String,
    text: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCall {
    /// `toolCallId`.
    pub id: String,
    /// `toolCallName`.
    pub name: String,
    /// The pieces of its arguments, joined.
    pub arguments: String,
    /// The result, when the agent told it itself.
    pub result: Option<String>,
    /// The message that it belongs to.
    pub parent: String,
}

impl AgentRun {
    /// Nothing was said. It keeps so many bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Takes note of an event, and of its data for the one that carries messages. Says which call it begins.
    pub fn observe(&mut self, event: &AgentEvent, data: &[u8]) -> Option<&AgentCall> {
        if self.cut {
            return None;
        }
        let name = event.name.as_deref()?;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.bytes += match name {
            "messages_snapshot" => data.len(),
            _ => length(&event.delta) + length(&event.content) + 64,
        };
        if self.bytes > self.limit || self.messages.len() + self.calls.len() > MAX_ITEMS {
            *self = Self { cut: true, ..Self::default() };
            return None;
        }
        let before = self.calls.len();
        match (Stream::of(name), name) {
            (Some((Stream::Text, step)), _) if step != StreamStep::End => self.text(event),
            (Some((Stream::Call, step)), _) if step != StreamStep::End => self.call(event),
            (_, "tool_call_result") => {
                let call = self.calls.iter_mut().find(|call| Some(&call.id) == event.call_id.as_ref())?;
                call.result = Some(event.content.clone().unwrap_or_default());
            }
            (_, "messages_snapshot") => {
                #[derive(serde::Deserialize)]
                struct Snapshot {
                    messages: Vec<Box<RawValue>>,
                }
                self.snapshot = serde_json::from_slice(data).ok().map(|Snapshot { messages }| messages);
            }
            (_, "run_finished") => self.is_over = true,
            (_, "run_error") => {
                self.is_over = true;
                self.error = Some(event.message.clone().unwrap_or_else(|| "the run failed".to_owned()));
            }
            _ => {}
        }
        self.calls.get(before)
    }

    /// Whether it became too long to be kept.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether the agent said that the run is over.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Why the run failed, when it did.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The texts that the agent said as itself, in the order in which they began.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.own().filter_map(|message| message.text.as_deref())
    }

    fn own(&self) -> impl Iterator<Item = &Said> {
        self.messages.iter().filter(|message| message.role == "assistant" && message.text.is_some())
    }

    /// The calls of tools, in the order in which they began.
    pub fn calls(&self) -> &[AgentCall] {
        &self.calls
    }

    /// The calls that nobody has answered, of those tools.
    pub fn unanswered<'r>(&'r self, tools: &'r [String]) -> impl Iterator<Item = &'r AgentCall> {
        self.calls.iter().filter(|call| call.result.is_none() && tools.contains(&call.name))
    }

    /// Adds what was said to the messages with which the run began, so that the next one begins with all of them. A
    /// conversation that the agent has told takes their place.
    pub fn continue_from(&self, messages: &mut Vec<Value>) {
        if let Some(told) = &self.snapshot {
            *messages = told.iter().filter_map(|message| serde_json::from_str(message.get()).ok()).collect();
            return;
        }
        let mut calls = self.calls.iter().map(AgentCall::json).collect::<Vec<_>>();
        for message in self.own() {
            let mut next = json!({"id": message.id, "role": message.role, "content": message.text});
            // They stand with the first message: their results follow at the end.
            if !calls.is_empty() {
                next["toolCalls"] = Value::Array(std::mem::take(&mut calls));
            }
            messages.push(next);
        }
        let results = self.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)));
        messages.extend(results.map(|(call, result)| {
            let id = format!("{}-result", call.id);
            json!({"id": id, "role": "tool", "toolCallId": call.id, "content": result})
        }));
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
            let calls = self.calls.iter().filter(|call| call.parent == message.id).map(AgentCall::json);
            let calls: Vec<_> = calls.collect();
            if !calls.is_empty() {
                object["toolCalls"] = calls.into();
            }
            object.to_string()
        });
        (self.snapshot.as_deref(), messages.collect())
    }

    fn text(&mut self, event: &AgentEvent) {
        let last = self.last_text.take();
        // What has no id goes on with what came before.
        let id = event.message_id.clone().or(last).unwrap_or_else(|| "message".to_owned());
        self.last_text = Some(id.clone());
        let message = self.message(id, event.role.as_deref().unwrap_or("assistant"));
        message.text.get_or_insert_default().push_str(event.delta.as_deref().unwrap_or_default());
    }

    fn call(&mut self, event: &AgentEvent) {
        let last = self.last_call.take();
        let Some(id) = event.call_id.clone().or(last) else { return };
        self.last_call = Some(id.clone());
        let delta = event.delta.as_deref().unwrap_or_default();
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.arguments.push_str(delta);
            return;
        }
        let Some(name) = event.call_name.clone() else { return };
        let parent = event.parent_id.clone().unwrap_or_else(|| id.clone());
        // A call belongs to what the agent said, and to nothing else.
        let parent = match self.messages.iter().find(|message| message.id == parent) {
            Some(message) if message.role != "assistant" => id.clone(),
            _ => parent,
        };
        self.message(parent.clone(), "assistant");
        self.calls.push(AgentCall { id, name, parent, arguments: delta.to_owned(), result: None });
    }

    fn message(&mut self, id: String, role: &str) -> &mut Said {
        let at = self.messages.iter().position(|message| message.id == id).unwrap_or_else(|| {
            self.messages.push(Said { id, role: role.to_owned(), text: None });
            self.messages.len() - 1
        });
        &mut self.messages[at]
    }
}

impl AgentCall {
    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        })
    }
}

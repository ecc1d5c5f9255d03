//! What an agent said in a run, put together from its events.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::assembler::{Assembler, Joined, StreamLimits};
use super::event::{AgentEvent, Stream, StreamStep};

/// How many messages and calls are kept. People and models say less in one run.
const MAX_ITEMS: usize = 10_000;

/// There is only one here.
const RUN: &str = "";

/// What an agent has said and called so far in one run.
///
/// It is kept as long as it is no longer than it may be; then it is [cut](Self::is_cut), and says nothing more.
#[derive(Clone, Debug)]
pub struct AgentRun {
    limit: usize,
    bytes: usize,
    cut: bool,
    assembler: Assembler,
    messages: Vec<Said>,
    calls: Vec<Called>,
    /// The whole conversation as the agent sees it, when it has told.
    snapshot: Option<Vec<Box<RawValue>>>,
    error: Option<String>,
    is_over: bool,
}

/// A message of the agent. One without a text carries calls.
#[derive(Clone, Debug)]
struct Said {
    id: String,
    role: String,
    has_text: bool,
}

/// A call, but for its arguments.
#[derive(Clone, Debug)]
struct Called {
    id: String,
    name: String,
    result: Option<String>,
    parent: String,
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
        Self {
            limit,
            bytes: 0,
            cut: false,
            // What it keeps is limited as a whole.
            assembler: Assembler::new(StreamLimits::NONE),
            messages: Vec::new(),
            calls: Vec::new(),
            snapshot: None,
            error: None,
            is_over: false,
        }
    }

    /// Takes note of an event, and of its data for the one that carries messages. Says which call it begins.
    pub fn observe(&mut self, event: &AgentEvent, data: &[u8]) -> Option<AgentCall> {
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
            *self = Self { cut: true, ..Self::new(self.limit) };
            return None;
        }
        let before = self.calls.len();
        match (Stream::of(name), name) {
            (Some((Stream::Text, step)), _) if step != StreamStep::End => self.text(step, event),
            (Some((Stream::Call, step)), _) if step != StreamStep::End => self.call(step, event),
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
        self.calls.get(before).map(|call| self.call_of(call))
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
        self.own().map(|message| self.joined(Stream::Text, &message.id))
    }

    fn own(&self) -> impl Iterator<Item = &Said> {
        self.messages.iter().filter(|message| message.role == "assistant" && message.has_text)
    }

    /// The calls of tools, in the order in which they began.
    pub fn calls(&self) -> impl Iterator<Item = AgentCall> {
        self.calls.iter().map(|call| self.call_of(call))
    }

    /// The calls that nobody has answered, of those tools.
    pub fn unanswered(&self, tools: &[String]) -> impl Iterator<Item = AgentCall> {
        let open = self.calls.iter().filter(|call| call.result.is_none() && tools.contains(&call.name));
        open.map(|call| self.call_of(call))
    }

    fn call_of(&self, call: &Called) -> AgentCall {
        let Called { id, name, result, parent } = call.clone();
        let arguments = self.joined(Stream::Call, &id).to_owned();
        AgentCall { id, name, arguments, result, parent }
    }

    /// All pieces of a text, or of the arguments of a call.
    fn joined(&self, stream: Stream, id: &str) -> &str {
        self.assembler.get(RUN, stream, id).map_or("", Joined::text)
    }

    /// Adds what was said to the messages with which the run began, so that the next one begins with all of them. A
    /// conversation that the agent has told takes their place.
    pub fn continue_from(&self, messages: &mut Vec<Value>) {
        if let Some(told) = &self.snapshot {
            *messages = told.iter().filter_map(|message| serde_json::from_str(message.get()).ok()).collect();
            return;
        }
        let mut calls = self.calls().map(|call| call.json()).collect::<Vec<_>>();
        for message in self.own() {
            let mut next = json!({"id": message.id, "role": message.role, "content": self.joined(Stream::Text, &message.id)});
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
            if message.has_text {
                object["content"] = self.joined(Stream::Text, &message.id).into();
            }
            let calls = self.calls().filter(|call| call.parent == message.id).map(|call| call.json());
            let calls: Vec<_> = calls.collect();
            if !calls.is_empty() {
                object["toolCalls"] = calls.into();
            }
            object.to_string()
        });
        (self.snapshot.as_deref(), messages.collect())
    }

    fn text(&mut self, step: StreamStep, event: &AgentEvent) {
        let mut event = Cow::Borrowed(event);
        if event.message_id.is_none() && self.assembler.last(RUN, Stream::Text).is_none() {
            event.to_mut().message_id = Some("message".to_owned());
        }
        let Some((joined, _)) = self.assembler.observe(RUN, Stream::Text, step, &event) else { return };
        let id = joined.id.clone();
        self.message(id, event.role.as_deref().unwrap_or("assistant")).has_text = true;
    }

    fn call(&mut self, step: StreamStep, event: &AgentEvent) {
        let Some((joined, _)) = self.assembler.observe(RUN, Stream::Call, step, event) else { return };
        let id = joined.id.clone();
        let Some(name) = joined.name.clone() else { return };
        if self.calls.iter().any(|call| call.id == id) {
            return;
        }
        let parent = event.parent_id.clone().unwrap_or_else(|| id.clone());
        // A call belongs to what the agent said, and to nothing else.
        let parent = match self.messages.iter().find(|message| message.id == parent) {
            Some(message) if message.role != "assistant" => id.clone(),
            _ => parent,
        };
        self.message(parent.clone(), "assistant");
        self.calls.push(Called { id, name, result: None, parent });
    }

    fn message(&mut self, id: String, role: &str) -> &mut Said {
        let at = self.messages.iter().position(|message| message.id == id).unwrap_or_else(|| {
            self.messages.push(Said { id, role: role.to_owned(), has_text: false });
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

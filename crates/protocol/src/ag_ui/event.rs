//! One event of a run.

use serde_json::{Map, Value};

/// As much of an event as a client acts on. Fields of another type than they should be are taken for missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentEvent {
    /// Its name, in `snake_case`.
    pub name: Option<String>,
    /// `toolCallId`.
    pub call_id: Option<String>,
    /// `toolCallName`.
    pub call_name: Option<String>,
    /// `parentMessageId`.
    pub parent_id: Option<String>,
    /// `messageId`.
    pub message_id: Option<String>,
    /// `role`.
    pub role: Option<String>,
    /// `delta`, when it is text.
    pub delta: Option<String>,
    /// `message`: why a run failed.
    pub message: Option<String>,
    /// `content`: what a tool gave. What is not text is JSON.
    pub content: Option<String>,
}

impl AgentEvent {
    /// Reads the data of an event. What is not an object has no name and no fields.
    ///
    /// ```
    /// use sortie_protocol::ag_ui::AgentEvent;
    ///
    /// let event = AgentEvent::read(br#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay"}"#);
    /// assert_eq!(event.name.as_deref(), Some("tool_call_start"));
    /// assert_eq!(AgentEvent::read(b"garbage"), AgentEvent::default());
    /// ```
    pub fn read(data: &[u8]) -> Self {
        match serde_json::from_slice(data) {
            Ok(Value::Object(members)) => Self::of(&members),
            _ => Self::default(),
        }
    }

    /// The event that an object is.
    pub fn of(members: &Map<String, Value>) -> Self {
        let text = |key: &str| members.get(key)?.as_str().map(str::to_owned);
        let content = members.get("content").filter(|content| !content.is_null());
        Self {
            name: text("type").map(|kind| event_name(&kind)),
            call_id: text("toolCallId"),
            call_name: text("toolCallName"),
            parent_id: text("parentMessageId"),
            message_id: text("messageId"),
            role: text("role"),
            delta: text("delta"),
            message: text("message"),
            content: content
                .map(|content| content.as_str().map_or_else(|| content.to_string(), str::to_owned)),
        }
    }

    /// The id of the text or call that it belongs to.
    pub fn stream_id(&self, stream: Stream) -> Option<&str> {
        match stream {
            Stream::Text | Stream::Reasoning => self.message_id.as_deref(),
            Stream::Call => self.call_id.as_deref(),
        }
    }
}

/// What an agent streams in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// A message.
    Text,
    /// What the agent thinks, in so far as it shows that.
    Reasoning,
    /// A call of a tool: the pieces are its arguments.
    Call,
}

/// What an event is to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStep {
    /// It begins one.
    Start,
    /// It adds to one.
    Piece,
    /// It ends one.
    End,
    /// It begins one when its id is new, adds to it, and is perhaps its end: nobody says which is the last.
    Chunk,
}

impl Stream {
    /// The stream that events of a name are about, and what they are to it.
    pub fn of(event_name: &str) -> Option<(Self, StreamStep)> {
        Some(match event_name {
            "text_message_start" => (Self::Text, StreamStep::Start),
            "text_message_content" => (Self::Text, StreamStep::Piece),
            "text_message_end" => (Self::Text, StreamStep::End),
            "text_message_chunk" => (Self::Text, StreamStep::Chunk),
            "reasoning_message_start" => (Self::Reasoning, StreamStep::Start),
            "reasoning_message_content" => (Self::Reasoning, StreamStep::Piece),
            "reasoning_message_end" => (Self::Reasoning, StreamStep::End),
            "reasoning_message_chunk" => (Self::Reasoning, StreamStep::Chunk),
            "tool_call_start" => (Self::Call, StreamStep::Start),
            "tool_call_args" => (Self::Call, StreamStep::Piece),
            "tool_call_end" => (Self::Call, StreamStep::End),
            "tool_call_chunk" => (Self::Call, StreamStep::Chunk),
            _ => return None,
        })
    }
}

/// The name that OATF has for a type of event: `RUN_STARTED` is `run_started`.
pub fn event_name(kind: &str) -> String {
    kind.to_ascii_lowercase()
}

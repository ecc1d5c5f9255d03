//! One event of a run.

use serde_json::Value;

/// As much of an event as a client acts on. Fields of another type than they should be are taken for missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
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
}

impl Event {
    /// Reads the data of an event. What is no object has no name and no fields.
    ///
    /// ```
    /// use sortie_protocol::ag_ui::Event;
    ///
    /// let event = Event::read(br#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay"}"#);
    /// assert_eq!(event.name.as_deref(), Some("tool_call_start"));
    /// assert_eq!(Event::read(b"garbage"), Event::default());
    /// ```
    pub fn read(data: &[u8]) -> Self {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(data) else { return Self::default() };
        let mut text = |key: &str| match fields.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Self {
            name: text("type").map(|kind| event_name(&kind)),
            call_id: text("toolCallId"),
            call_name: text("toolCallName"),
            parent_id: text("parentMessageId"),
            message_id: text("messageId"),
            role: text("role"),
            delta: text("delta"),
        }
    }
}

/// The name that OATF has for a type of event: `RUN_STARTED` is `run_started`.
pub fn event_name(kind: &str) -> String {
    kind.to_ascii_lowercase()
}

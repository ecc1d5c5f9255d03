//! What indicators see of a message: computed again whenever a trace is read, and never stored.

mod ag_ui;
mod bounded;
mod conversation;

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::content::Content;
use crate::json_text::readable;
use crate::record::{Kind, Message, Sender};
use crate::wording::{CARD, document_text};
use bounded::{Bounded, Key};
use conversation::Conversations;
use sortie_oatf::model::Mode;
use sortie_protocol::ag_ui::{Assembler, StreamLimits};
use sortie_protocol::{Envelope, id_key};

/// How much is remembered between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    requests: usize,
    /// What they take together, in bytes.
    request_bytes: usize,
    /// Texts and tool calls that are being streamed.
    streams: StreamLimits,
    /// What is said in the conversation of one actor, in bytes on the wire.
    transcript_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 4096,
            request_bytes: 16 * 1024 * 1024,
            streams: StreamLimits { streams: 1024, text_bytes: 1024 * 1024, bytes: 16 * 1024 * 1024 },
            transcript_bytes: 4 * 1024 * 1024,
        }
    }
}

/// Something that keeps what indicators see from being complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// So many requests, the oldest, were forgotten. Their answers will lack `_request`.
    #[error("{0} of the oldest requests without an answer forgotten")]
    RequestsForgotten(usize),
    /// So many streamed texts, the oldest, were forgotten. What follows of them is joined without their beginning.
    #[error("{0} of the oldest streamed texts forgotten")]
    StreamsForgotten(usize),
    /// The joined text lacks its beginning, since it is too long.
    #[error("the joined text is too long, and lacks its beginning")]
    TextCut,
    /// The conversation is too long to be told: `_transcript` is null, and what reads it fails.
    #[error("the conversation is too long for `_transcript`")]
    ConversationTooLong,
    /// The message has something in it that no value can hold: half a character, a number beyond all bounds, nesting
    /// without end. The nearest thing that says the same stands in its place.
    #[error("the message cannot be read as it is, and was mended")]
    Mended,
    /// The message is not JSON. It is its text.
    #[error("the message is not JSON")]
    NotJson,
}

/// A message as indicators see it.
#[derive(Clone, Debug)]
pub struct Observed<'m> {
    /// The record of it.
    pub record: &'m Message,
    /// What is looked at.
    pub message: Value,
    /// What keeps it from being complete; nearly always nothing.
    pub notes: Vec<Note>,
    /// The conversation so far, where the message carries it and somebody [asked](Deriver::with_transcripts) for it.
    pub transcript: Option<Value>,
}

impl<'m> Observed<'m> {
    /// A message, and what is seen of it.
    pub fn new(message: &'m Message, seen: Value, notes: Vec<Note>) -> Self {
        Self { record: message, message: seen, notes, transcript: None }
    }

    /// The message with the conversation so far as its member `_transcript`, as documents see it that read it.
    pub fn with_transcript(&self) -> Cow<'_, Value> {
        let Some(transcript) = &self.transcript else { return Cow::Borrowed(&self.message) };
        let mut fields = match &self.message {
            Value::Object(fields) => fields.clone(),
            other => Map::from_iter([("_result".to_owned(), other.clone())]),
        };
        fields.insert("_transcript".to_owned(), transcript.clone());
        Cow::Owned(Value::Object(fields))
    }
}

/// Turns messages, in the order of the trace, into what indicators see.
///
/// | on the wire | what indicators see |
/// |---|---|
/// | a JSON-RPC request or notification | its `params`; `{}` when it has none |
/// | a JSON-RPC response, or an item of a stream that is one | its `result`, or its `error` |
/// | an AG-UI event, or the body of an HTTP request or response | all of it |
/// | the same of A2A 1.0 | the same, in the words of 0.3 |
/// | what is not JSON | a string: the text, with U+FFFD for what is not UTF-8 |
///
/// and adds what the wire has elsewhere. What is added takes the place of a member of the same name.
///
/// - The answers that a client actor gets carry the `params` of their request as `_request`; a result that is not an object
///   becomes `{"_result": …, "_request": …}`.
/// - AG-UI: `tool_call_args`, `tool_call_end` and `tool_call_chunk` get the `toolCallName` of their call;
///   `text_message_end`, `text_message_chunk`, `reasoning_message_end` and `reasoning_message_chunk` the text so far as `_text`;
///   `tool_call_end` and `tool_call_chunk` the
///   arguments so far as `_arguments`, parsed when they are JSON.
/// - The messages that complete what was asked of a target carry the conversation so far as `_transcript`, where somebody
///   [asks](Self::with_transcripts) for it.
///
/// What it remembers for that is bounded. The oldest is forgotten first, and a [`Note`] says so.
#[derive(Clone, Debug)]
pub struct Deriver {
    requests: Bounded<Box<str>>,
    assembler: Assembler,
    conversations: Option<Conversations>,
}

impl Deriver {
    /// Nothing was said yet.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    fn with_limits(limits: Limits) -> Self {
        Self {
            requests: Bounded::new(limits.requests, limits.request_bytes),
            assembler: Assembler::new(limits.streams),
            conversations: None,
        }
    }

    /// Tells conversations too, for documents that read `_transcript`. To be called before the first message.
    #[must_use]
    pub fn with_transcripts(mut self, wanted: bool) -> Self {
        self.conversations = wanted.then(|| Conversations::new(Limits::default()));
        self
    }

    /// What indicators see of the next message. Every message of a trace is to pass through here or through
    /// [`skip`](Self::skip), in order: later ones may refer to it.
    pub fn observe<'m>(&mut self, message: &'m Message) -> Observed<'m> {
        let mut notes = Vec::new();
        let seen = match &message.content {
            Content::Json(json) => self.seen(message, &document_text(message, json.get()), &mut notes),
            Content::Bytes(_) => {
                notes.push(Note::NotJson);
                Value::String(message.content.text().into_owned())
            }
        };
        let transcript = self.conversations.as_mut().and_then(|told| told.observe(message, &mut notes));
        Observed { transcript, ..Observed::new(message, seen, notes) }
    }

    /// What indicators see of params, or of the whole of a message without an envelope, where no other message matters: so
    /// it is for server actors.
    pub fn body(json: &str) -> (Value, Vec<Note>) {
        let mut notes = Vec::new();
        (value(json, &mut notes), notes)
    }

    /// Whether what indicators see of a message stands in what was on the wire, but for what other messages add: so it is unless the wire has
    /// other words than documents.
    pub fn is_on_wire(message: &Message) -> bool {
        match &message.content {
            Content::Json(json) => matches!(document_text(message, json.get()), Cow::Borrowed(_)),
            Content::Bytes(_) => false,
        }
    }

    /// The JSON text of what indicators see of a message, where it can be had without a parser: where it [is on the
    /// wire](Self::is_on_wire) and no other message matters, as for server actors. [`body`](Self::body) makes a value of it.
    pub fn text_of(message: &Message) -> Option<&str> {
        let Content::Json(json) = &message.content else { return None };
        if Mode::of(&message.mode).is_client() || !Self::is_on_wire(message) {
            return None;
        }
        let envelope = envelope_of(message, json.get());
        Some(envelope.map_or(json.get(), |envelope| body_of(&envelope, message.kind, json.get())))
    }

    /// Passes over a message that nobody looks at. It costs nothing where no later one can refer to it, which is so for
    /// all messages of server actors.
    pub fn skip(&mut self, message: &Message) {
        if Mode::of(&message.mode).is_client() {
            self.observe(message);
        }
    }

    fn seen(&mut self, message: &Message, json: &str, notes: &mut Vec<Note>) -> Value {
        let Some(envelope) = envelope_of(message, json) else {
            let mut whole = value(json, notes);
            if Mode::of(&message.mode) == Mode::AgUiClient && message.sender == Sender::Agent {
                ag_ui::enrich(&mut self.assembler, message, &mut whole, notes);
            }
            return whole;
        };
        let asks = asks(&envelope, message.kind);
        if Mode::of(&message.mode).is_client() {
            if asks && message.sender == Sender::Actor {
                self.remember(message, &envelope, json, notes);
            } else if !asks && message.sender == Sender::Agent {
                let body = value(body_of(&envelope, message.kind, json), notes);
                return self.answer(message, &envelope, body, notes);
            }
        }
        value(body_of(&envelope, message.kind, json), notes)
    }

    /// Keeps the params of a request until it is answered.
    fn remember(&mut self, message: &Message, envelope: &Envelope<'_>, json: &str, notes: &mut Vec<Note>) {
        let Some(key) = request_key(message, envelope) else { return };
        let params: Box<str> = body_of(envelope, message.kind, json).into();
        let bytes = params.len();
        let forgotten = self.requests.insert(key, params, bytes);
        if forgotten > 0 {
            notes.push(Note::RequestsForgotten(forgotten));
        }
    }

    /// An answer with the params of its request. A stream gives many to one request, so only the other kinds close it.
    fn answer(
        &mut self,
        message: &Message,
        envelope: &Envelope<'_>,
        body: Value,
        notes: &mut Vec<Note>,
    ) -> Value {
        let Some(key) = request_key(message, envelope) else { return body };
        let Some(params) = self.requests.get(&key) else { return body };
        let request = value(params, notes);
        if message.kind != Kind::Event {
            self.requests.remove(&key);
        }
        let mut body = match body {
            Value::Object(body) => body,
            other => Map::from_iter([("_result".to_owned(), other)]),
        };
        body.insert("_request".to_owned(), request);
        Value::Object(body)
    }
}

impl Default for Deriver {
    fn default() -> Self {
        Self::new()
    }
}

/// The envelope of a message; `None` when it has none. AG-UI has no envelopes, and neither has the card of an A2A agent,
/// which is a plain HTTP body whatever its members are called.
fn envelope_of<'j>(message: &Message, json: &'j str) -> Option<Envelope<'j>> {
    let is_card = message.protocol == "a2a" && message.surfaces.iter().any(|surface| surface == CARD);
    if message.protocol == "ag_ui" || is_card {
        return None;
    }
    let envelope = Envelope::read(json).ok()?;
    let answers = envelope.result.is_some() || envelope.error.is_some();
    let names_itself = envelope.jsonrpc.is_some() || envelope.id.is_some();
    (has_method(&envelope) || (answers && names_itself)).then_some(envelope)
}

fn has_method(envelope: &Envelope<'_>) -> bool {
    envelope.method.is_some_and(|method| method.get().starts_with('"'))
}

/// Whether a message asks something; an item of a stream may do both.
fn asks(envelope: &Envelope<'_>, kind: Kind) -> bool {
    match kind {
        Kind::Request | Kind::Notification => true,
        Kind::Response | Kind::Error => false,
        Kind::Event => has_method(envelope),
    }
}

/// What indicators see of a message, but for what is added.
fn body_of<'j>(envelope: &Envelope<'j>, kind: Kind, whole: &'j str) -> &'j str {
    let body = match kind {
        _ if asks(envelope, kind) => match envelope.params {
            // A request without params has empty ones.
            None if has_method(envelope) => return "{}",
            params => params,
        },
        Kind::Error => envelope.error.or(envelope.result),
        _ => envelope.result.or(envelope.error),
    };
    body.map_or(whole, RawValue::get)
}

/// Which request it is, or answers: ids are unique on one connection.
fn request_key(message: &Message, envelope: &Envelope<'_>) -> Option<Key> {
    let id = match &message.id {
        Some(id) => id_key(&id.to_string()),
        None => id_key(envelope.id?.get()),
    };
    (id != "null").then(|| Key::new(message, id))
}

fn value(json: &str, notes: &mut Vec<Note>) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| {
        if !notes.contains(&Note::Mended) {
            notes.push(Note::Mended);
        }
        let mended = readable(json);
        // It is mended in every way we know of. Otherwise its text says what it says.
        mended
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_else(|| Value::String(json.to_owned()))
    })
}

#[cfg(test)]
mod tests;

//! AG-UI streams text and arguments in pieces. An indicator wants them whole.

use serde_json::{Map, Value};

use super::bounded::{Bounded, Key};
use super::{Limits, Note};
use crate::record::Message;

/// What is being streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Text,
    Call,
}

/// A text, or the arguments of a tool call, as far as it has come.
#[derive(Debug, Default)]
struct Joined {
    text: String,
    /// Whether its beginning was dropped.
    cut: bool,
    /// The tool that is called.
    name: Option<String>,
}

impl Joined {
    fn bytes(&self) -> usize {
        self.text.len() + self.name.as_ref().map_or(0, String::len)
    }

    /// Adds a piece, and drops the beginning of what has become too long: the end is what has not been looked at yet.
    fn push(&mut self, piece: &str, max_bytes: usize) {
        self.text.push_str(piece);
        if self.text.len() > max_bytes {
            let from = self.text.ceil_char_boundary(self.text.len() - max_bytes);
            self.text.drain(..from);
            self.cut = true;
        }
    }
}

/// Everything that is being streamed.
#[derive(Debug)]
pub(super) struct Streams {
    joined: Bounded<Joined>,
    /// The id of the chunk before, for chunks that leave it out.
    last_chunk: Bounded<String>,
    text_bytes: usize,
}

impl Streams {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            joined: Bounded::new(limits.streams, limits.stream_bytes),
            last_chunk: Bounded::new(limits.streams, limits.stream_bytes),
            text_bytes: limits.text_bytes,
        }
    }

    /// Adds to an event what the events before it say.
    pub(super) fn enrich(&mut self, message: &Message, event: &mut Value, notes: &mut Vec<Note>) {
        let Value::Object(event) = event else { return };
        for surface in &message.surfaces {
            match surface.as_str() {
                "text_message_start" => self.start(Stream::Text, message, event, notes),
                "text_message_content" => self.piece(Stream::Text, message, event, notes),
                "text_message_end" => self.end(Stream::Text, message, event, notes),
                "text_message_chunk" => self.chunk(Stream::Text, message, event, notes),
                "tool_call_start" => self.start(Stream::Call, message, event, notes),
                "tool_call_args" => self.piece(Stream::Call, message, event, notes),
                "tool_call_end" => self.end(Stream::Call, message, event, notes),
                "tool_call_chunk" => self.chunk(Stream::Call, message, event, notes),
                "run_finished" | "run_error" => {
                    self.joined.remove_connection(message);
                    self.last_chunk.remove_connection(message);
                }
                _ => {}
            }
        }
    }

    fn start(
        &mut self,
        stream: Stream,
        message: &Message,
        event: &Map<String, Value>,
        notes: &mut Vec<Note>,
    ) {
        let Some(key) = stream.key(message, event) else { return };
        let joined = Joined { name: text(event, "toolCallName"), ..Joined::default() };
        let bytes = joined.bytes();
        note_forgotten(self.joined.insert(key, joined, bytes), notes);
    }

    fn piece(
        &mut self,
        stream: Stream,
        message: &Message,
        event: &mut Map<String, Value>,
        notes: &mut Vec<Note>,
    ) {
        let Some(key) = stream.key(message, event) else { return };
        self.add(&key, event, notes);
        if let Some(joined) = self.joined.get_mut(&key) {
            joined.give_name(event);
        }
    }

    fn end(
        &mut self,
        stream: Stream,
        message: &Message,
        event: &mut Map<String, Value>,
        notes: &mut Vec<Note>,
    ) {
        let joined = stream.key(message, event).and_then(|key| self.joined.remove(&key)).unwrap_or_default();
        joined.give_name(event);
        joined.give_text(stream, event, notes);
    }

    /// A chunk is a start when its id is new, a piece, and perhaps the end: nobody says which is the last.
    fn chunk(
        &mut self,
        stream: Stream,
        message: &Message,
        event: &mut Map<String, Value>,
        notes: &mut Vec<Note>,
    ) {
        let last = Key::new(message, stream.letter().to_owned());
        let key = match text(event, stream.id_field()) {
            Some(id) => {
                let bytes = id.len();
                let key = stream.key_of(message, &id);
                self.last_chunk.insert(last, id, bytes);
                key
            }
            None => match self.last_chunk.get_mut(&last) {
                Some(id) => stream.key_of(message, id),
                None => return,
            },
        };
        self.add(&key, event, notes);
        if let Some(joined) = self.joined.get_mut(&key) {
            joined.give_name(event);
            joined.give_text(stream, event, notes);
        }
    }

    /// Adds the piece that an event carries, and the name of the tool.
    fn add(&mut self, key: &Key, event: &Map<String, Value>, notes: &mut Vec<Note>) {
        if self.joined.get_mut(key).is_none() {
            note_forgotten(self.joined.insert(key.clone(), Joined::default(), 0), notes);
        }
        let Some(joined) = self.joined.get_mut(key) else { return };
        let before = joined.bytes();
        if let Some(Value::String(piece)) = event.get("delta") {
            joined.push(piece, self.text_bytes);
        }
        if joined.name.is_none() {
            joined.name = text(event, "toolCallName");
        }
        let after = joined.bytes();
        note_forgotten(self.joined.resized(key, before, after), notes);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.joined.len() + self.last_chunk.len()
    }
}

impl Joined {
    fn give_name(&self, event: &mut Map<String, Value>) {
        if let Some(name) = &self.name {
            event.insert("toolCallName".to_owned(), name.clone().into());
        }
    }

    fn give_text(&self, stream: Stream, event: &mut Map<String, Value>, notes: &mut Vec<Note>) {
        if self.cut {
            notes.push(Note::TextCut);
        }
        let text = || Value::String(self.text.clone());
        match stream {
            Stream::Text => event.insert("_text".to_owned(), text()),
            Stream::Call => {
                let arguments = serde_json::from_str(&self.text).unwrap_or_else(|_| text());
                event.insert("_arguments".to_owned(), arguments)
            }
        };
    }
}

impl Stream {
    fn id_field(self) -> &'static str {
        match self {
            Self::Text => "messageId",
            Self::Call => "toolCallId",
        }
    }

    /// Ids of messages and of calls are apart.
    fn letter(self) -> &'static str {
        match self {
            Self::Text => "t",
            Self::Call => "c",
        }
    }

    fn key(self, message: &Message, event: &Map<String, Value>) -> Option<Key> {
        text(event, self.id_field()).map(|id| self.key_of(message, &id))
    }

    fn key_of(self, message: &Message, id: &str) -> Key {
        Key::new(message, format!("{}{id}", self.letter()))
    }
}

fn text(event: &Map<String, Value>, field: &str) -> Option<String> {
    event.get(field)?.as_str().map(ToOwned::to_owned)
}

fn note_forgotten(count: usize, notes: &mut Vec<Note>) {
    if count > 0 {
        notes.push(Note::StreamsForgotten(count));
    }
}

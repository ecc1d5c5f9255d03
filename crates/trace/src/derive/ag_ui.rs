//! AG-UI streams text and arguments in pieces. An indicator wants them whole.

use serde_json::{Map, Value};
use sortie_protocol::ag_ui::{AgentEvent, Stream, StreamStep};

use super::bounded::{Bounded, Key};
use super::{Limits, Note};
use crate::record::Message;

/// A text, or the arguments of a tool call, as far as it has come.
#[derive(Debug, Default)]
struct Joined {
    text: String,
    /// Whether its beginning was dropped.
    cut: bool,
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
        let Value::Object(members) = event else { return };
        let event = AgentEvent::of(members);
        for surface in &message.surfaces {
            if ["run_finished", "run_error"].contains(&surface.as_str()) {
                self.joined.remove_connection(message);
                self.last_chunk.remove_connection(message);
            } else if let Some((stream, step)) = Stream::of(surface) {
                self.step(message, stream, step, &event, members, notes);
            }
        }
    }

    fn step(
        &mut self,
        message: &Message,
        stream: Stream,
        step: StreamStep,
        event: &AgentEvent,
        members: &mut Map<String, Value>,
        notes: &mut Vec<Note>,
    ) {
        let own = event.stream_id(stream);
        let is_chunk = step == StreamStep::Chunk;
        let id = if is_chunk { self.chunk_id(message, stream, own) } else { own.map(str::to_owned) };
        let key = id.map(|id| Key::new(message, format!("{}{id}", letter(stream))));
        match (step, key) {
            (StreamStep::Start, Some(key)) => {
                let joined = Joined { name: event.call_name.clone(), ..Joined::default() };
                let bytes = joined.bytes();
                note_forgotten(self.joined.insert(key, joined, bytes), notes);
            }
            (StreamStep::Piece | StreamStep::Chunk, Some(key)) => {
                self.add(&key, event, notes);
                if let Some(joined) = self.joined.get_mut(&key) {
                    joined.give_name(members);
                    if is_chunk {
                        joined.give_text(stream, members, notes);
                    }
                }
            }
            (StreamStep::End, key) => {
                let joined = key.and_then(|key| self.joined.remove(&key)).unwrap_or_default();
                joined.give_name(members);
                joined.give_text(stream, members, notes);
            }
            (_, None) => {}
        }
    }

    /// The id of a chunk: its own, or that of the chunk before.
    fn chunk_id(&mut self, message: &Message, stream: Stream, id: Option<&str>) -> Option<String> {
        let last = Key::new(message, letter(stream).to_owned());
        if let Some(id) = id {
            self.last_chunk.insert(last, id.to_owned(), id.len());
            return Some(id.to_owned());
        }
        self.last_chunk.get_mut(&last).cloned()
    }

    /// Adds the piece that an event carries, and the name of the tool.
    fn add(&mut self, key: &Key, event: &AgentEvent, notes: &mut Vec<Note>) {
        if self.joined.get_mut(key).is_none() {
            note_forgotten(self.joined.insert(key.clone(), Joined::default(), 0), notes);
        }
        let Some(joined) = self.joined.get_mut(key) else { return };
        let before = joined.bytes();
        joined.push(event.delta.as_deref().unwrap_or_default(), self.text_bytes);
        if joined.name.is_none() {
            joined.name.clone_from(&event.call_name);
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

/// Ids of messages and of calls are apart.
fn letter(stream: Stream) -> &'static str {
    match stream {
        Stream::Text => "t",
        Stream::Call => "c",
    }
}

fn note_forgotten(count: usize, notes: &mut Vec<Note>) {
    if count > 0 {
        notes.push(Note::StreamsForgotten(count));
    }
}

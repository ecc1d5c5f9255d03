//! From bytes, in whatever pieces they come, to events.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use thiserror::Error;

use super::Event;
use crate::Limits;

/// An event is longer than [`Limits::message_bytes`].
///
/// It is reported once, as soon as it is known, and skipped; the events after it are read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("event longer than {0} bytes")]
pub struct TooLong(pub usize);

/// Reads events out of a stream that arrives in pieces.
///
/// It holds one event and one piece at a time, however many there are.
///
/// ```
/// use sortie_wire::{Limits, sse::Decoder};
///
/// let mut decoder = Decoder::new(&Limits::default());
/// decoder.push("event: ping\r\nda".into());
/// assert!(decoder.next_event().is_none());
/// decoder.push("ta: 1\r\n\r\n".into());
/// let event = decoder.next_event().unwrap().unwrap();
/// assert_eq!((event.event.as_deref(), &event.data[..]), (Some("ping"), &b"1"[..]));
/// ```
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// What was pushed and not yet looked at.
    piece: Bytes,
    /// The line that is being read, when its beginning came in an earlier piece.
    line: BytesMut,
    at: At,
    /// The last line ended with CR, so that LF would belong to that ending.
    after_cr: bool,
    /// No line was read yet, so that a byte order mark would be one.
    first: bool,
    /// The event is too long: nothing is kept until it ends.
    skipping: bool,
    block: Block,
    last_id: Option<String>,
    retry: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Line,
    /// Inside a line of which nothing is kept: a comment, or a part of an event that is too long.
    Ignored,
}

#[derive(Debug, Default)]
struct Block {
    data: BytesMut,
    has_data: bool,
    id: Option<String>,
    event: Option<String>,
    retry: Option<u64>,
}

impl Block {
    fn bytes(&self) -> usize {
        self.data.len() + self.id.as_ref().map_or(0, String::len) + self.event.as_ref().map_or(0, String::len)
    }

    fn finish(self) -> Option<Event> {
        self.has_data.then(|| Event {
            id: self.id,
            event: self.event,
            data: self.data.freeze(),
            retry: self.retry,
        })
    }
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.message_bytes,
            piece: Bytes::new(),
            line: BytesMut::new(),
            at: At::Start,
            after_cr: false,
            first: true,
            skipping: false,
            block: Block::default(),
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next piece of the stream. Call [`next_event`](Self::next_event) until it has no more, then push
    /// again.
    pub fn push(&mut self, piece: Bytes) {
        if self.piece.is_empty() {
            self.piece = piece;
        } else {
            self.piece = [&self.piece[..], &piece[..]].concat().into();
        }
    }

    /// The next event that is complete. `None` asks for another piece.
    pub fn next_event(&mut self) -> Option<Result<Event, TooLong>> {
        while !self.piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && self.piece[0] == b'\n' {
                let _ = self.piece.split_to(1);
                continue;
            }
            let found = match memchr2(b'\r', b'\n', &self.piece) {
                Some(end) => {
                    let rest = self.piece.split_to(end);
                    self.after_cr = self.piece.split_to(1)[0] == b'\r';
                    self.end_line(&rest)
                }
                None => self.keep_line(),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The event that the stream ended in the middle of.
    ///
    /// A reader is to forget it, says the standard; it is here so that it can be recorded.
    pub fn unfinished(&mut self) -> Option<Event> {
        if self.at == At::Line {
            let _ = self.end_line(&Bytes::new());
        }
        std::mem::take(&mut self.block).finish()
    }

    /// The id to resume from: the last that was named, whether or not its event had data.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How many milliseconds to wait before connecting again, as last told.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The piece holds the beginning or the middle of a line, and not its end.
    fn keep_line(&mut self) -> Option<Result<Event, TooLong>> {
        let piece = std::mem::take(&mut self.piece);
        if self.at == At::Start {
            self.at = if self.skipping { At::Ignored } else { At::Line };
        }
        if self.at == At::Ignored {
            return None;
        }
        self.line.extend_from_slice(&piece);
        let line = without_mark(&self.line, self.first);
        // A comment may be as long as it likes, so nothing of it is kept.
        if line.first() == Some(&b':') {
            self.line = BytesMut::new();
            self.at = At::Ignored;
            self.first = false;
        } else if self.block.bytes() + line.len() > self.limit {
            return Some(Err(self.skip(At::Ignored)));
        }
        None
    }

    /// A line ends; `rest` is what the piece holds of it.
    fn end_line(&mut self, rest: &Bytes) -> Option<Result<Event, TooLong>> {
        let at = std::mem::replace(&mut self.at, At::Start);
        if at == At::Ignored {
            return None;
        }
        let begun;
        let mut line = &rest[..];
        if at == At::Line {
            self.line.extend_from_slice(rest);
            begun = std::mem::take(&mut self.line);
            line = &begun;
        }
        line = without_mark(line, std::mem::take(&mut self.first));
        if line.is_empty() {
            self.skipping = false;
            return std::mem::take(&mut self.block).finish().map(Ok);
        }
        if self.skipping {
            return None;
        }
        if self.block.bytes() + line.len() > self.limit && line[0] != b':' {
            return Some(Err(self.skip(At::Start)));
        }
        self.field(line);
        None
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.block.has_data {
                    self.block.data.extend_from_slice(b"\n");
                }
                self.block.has_data = true;
                self.block.data.extend_from_slice(value);
            }
            // An empty type is the default one.
            b"event" => self.block.event = Some(text(value)).filter(|event| !event.is_empty()),
            // The standard has no ids with NUL in them.
            b"id" if !value.contains(&0) => {
                let id = text(value);
                self.last_id = Some(id.clone()).filter(|id| !id.is_empty());
                self.block.id = Some(id);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // What does not fit is not a number that anyone would wait for.
                if let Some(retry) = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()) {
                    self.retry = Some(retry);
                    self.block.retry = Some(retry);
                }
            }
            _ => {}
        }
    }

    /// Forgets the event and all that follows of it.
    fn skip(&mut self, at: At) -> TooLong {
        self.block = Block::default();
        self.line = BytesMut::new();
        self.at = at;
        self.first = false;
        self.skipping = true;
        TooLong(self.limit)
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// The line without the byte order mark that a stream may begin with.
fn without_mark(line: &[u8], first: bool) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").filter(|_| first).unwrap_or(line)
}

#[cfg(test)]
mod tests;

//! Cuts a stream of bytes into messages without losing one of its bytes.

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memchr2};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::{Limits, sse};

/// What ends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBoundary {
    /// A line break: standard input and output.
    Line,
    /// An empty line: server-sent events.
    Block,
}

/// A piece of a stream, with whatever ends it. All pieces together are the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramePiece {
    /// A message.
    Whole(Bytes),
    /// A part of a message that is too long to be held.
    Part {
        /// Its bytes.
        bytes: Bytes,
        /// Whether the message ends here.
        last: bool,
    },
}

/// Cuts what it is given, in whatever pieces that comes. It holds one message of the limit, and one piece.
#[derive(Debug)]
pub struct FrameCutter {
    boundary: FrameBoundary,
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer has no boundary in it.
    scanned: usize,
    /// Nothing has come since the last line break. (Blocks only, as the next.)
    at_line_start: bool,
    /// The last byte was CR, so that LF would belong to that line break.
    after_cr: bool,
    /// The message is too long, and its beginning has gone on already.
    overlong: bool,
}

impl FrameCutter {
    /// One that has been given nothing. Messages longer than [`Limits::message_bytes`] are cut into parts.
    pub fn new(boundary: FrameBoundary, limits: &Limits) -> Self {
        Self {
            boundary,
            limit: limits.message_bytes,
            buffer: BytesMut::new(),
            scanned: 0,
            at_line_start: true,
            after_cr: false,
            overlong: false,
        }
    }

    /// Takes what follows.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next piece; `None` asks for more bytes.
    pub fn next_piece(&mut self) -> Option<FramePiece> {
        let end = match self.boundary {
            FrameBoundary::Line => self.line_end(),
            FrameBoundary::Block => self.block_end(),
        };
        if let Some(end) = end {
            self.scanned = 0;
            let bytes = self.buffer.split_to(end).freeze();
            let begun = std::mem::take(&mut self.overlong);
            return Some(if begun || bytes.len() > self.limit {
                FramePiece::Part { bytes, last: true }
            } else {
                FramePiece::Whole(bytes)
            });
        }
        if self.buffer.is_empty() || (!self.overlong && self.buffer.len() <= self.limit) {
            return None;
        }
        self.overlong = true;
        self.scanned = 0;
        Some(FramePiece::Part { bytes: self.buffer.split().freeze(), last: false })
    }

    /// What is left when the stream has ended.
    pub fn finish(&mut self) -> Option<FramePiece> {
        self.scanned = 0;
        let bytes = self.buffer.split().freeze();
        if std::mem::take(&mut self.overlong) {
            return Some(FramePiece::Part { bytes, last: true });
        }
        (!bytes.is_empty()).then_some(FramePiece::Whole(bytes))
    }

    fn line_end(&mut self) -> Option<usize> {
        let found = memchr(b'\n', &self.buffer[self.scanned..]).map(|at| self.scanned + at + 1);
        self.scanned = self.buffer.len();
        found
    }

    fn block_end(&mut self) -> Option<usize> {
        while let Some(at) = memchr2(b'\r', b'\n', &self.buffer[self.scanned..]) {
            if at > 0 {
                (self.at_line_start, self.after_cr) = (false, false);
            }
            let byte = self.buffer[self.scanned + at];
            self.scanned += at + 1;
            if byte == b'\n' && std::mem::take(&mut self.after_cr) {
                continue;
            }
            self.after_cr = byte == b'\r';
            if std::mem::replace(&mut self.at_line_start, true) {
                if self.after_cr && self.buffer.get(self.scanned) == Some(&b'\n') {
                    self.scanned += 1;
                    self.after_cr = false;
                }
                return Some(self.scanned);
            }
        }
        if self.scanned < self.buffer.len() {
            (self.at_line_start, self.after_cr) = (false, false);
            self.scanned = self.buffer.len();
        }
        None
    }
}

/// The messages of a stream of lines.
#[derive(Debug)]
pub(super) struct LineFrames<R> {
    reader: R,
    cutter: FrameCutter,
    ended: bool,
}

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

impl<R: AsyncRead + Unpin> LineFrames<R> {
    pub(super) fn new(reader: R, limits: &Limits) -> Self {
        Self { reader, cutter: FrameCutter::new(FrameBoundary::Line, limits), ended: false }
    }

    /// The next piece; `None` at the end of the stream. It may be dropped while it waits without losing anything.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<FramePiece>> {
        loop {
            if let Some(piece) = self.cutter.next_piece() {
                return Ok(Some(piece));
            }
            if self.ended {
                return Ok(self.cutter.finish());
            }
            self.cutter.buffer.reserve(CHUNK);
            self.ended = self.reader.read_buf(&mut self.cutter.buffer).await? == 0;
        }
    }
}

/// A line without its line break, and the line break.
pub(super) fn split_ending(line: &Bytes) -> (Bytes, Bytes) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    (line.slice(..text.len()), line.slice(text.len()..))
}

/// The fields of a block of events, line by line, with line breaks.
fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr2(b'\r', b'\n', rest)
            .map_or(rest.len(), |at| if rest[at..].starts_with(b"\r\n") { at + 2 } else { at + 1 });
        let (line, tail) = rest.split_at(end);
        rest = tail;
        Some(line)
    })
}

fn is_data(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    line.strip_prefix(b"data").is_some_and(|rest| rest.is_empty() || b":\r\n".contains(&rest[0]))
}

/// The message in a block of events; empty where it has none, and where it is an event of another name.
pub fn event_data(block: &Bytes, limits: &Limits) -> Bytes {
    let mut decoder = sse::Decoder::new(limits);
    decoder.push(block.clone());
    let event = decoder.next_event().and_then(Result::ok).or_else(|| decoder.unfinished());
    let event = event.filter(|event| event.event.as_deref().is_none_or(|name| name == "message"));
    event.map(|event| event.data).unwrap_or_default()
}

/// The block with other data: its other fields stay where they are. Without data, nothing is dispatched, but ids count.
pub fn replace_data(block: &[u8], data: Option<&[u8]>) -> Bytes {
    let mut changed = BytesMut::with_capacity(block.len() + data.map_or(0, <[u8]>::len));
    let mut data = data;
    for line in lines(block) {
        if !is_data(line) {
            changed.extend_from_slice(line);
        } else if let Some(data) = data.take() {
            // All lines of data, and the empty line that the block has already is left out.
            let event = sse::encode(None, None, data);
            changed.extend_from_slice(event.strip_suffix(b"\n").unwrap_or(&event));
        }
    }
    changed.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(boundary: FrameBoundary, stream: &[u8], step: usize, limit: usize) -> Vec<FramePiece> {
        let mut cutter = FrameCutter::new(boundary, &Limits { message_bytes: limit, ..Limits::default() });
        let mut pieces = Vec::new();
        for chunk in stream.chunks(step.max(1)) {
            cutter.push(chunk);
            pieces.extend(std::iter::from_fn(|| cutter.next_piece()));
        }
        pieces.extend(cutter.finish());
        pieces
    }

    fn whole(text: &'static str) -> FramePiece {
        FramePiece::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn lines_keep_their_endings() {
        let pieces = cut(FrameBoundary::Line, b"{}\n\r\n{\"a\":1}\r\nlast", 1000, 100);
        assert_eq!(pieces, ["{}\n", "\r\n", "{\"a\":1}\r\n", "last"].map(whole));
    }

    #[test]
    fn blocks_end_with_an_empty_line_however_lines_end() {
        for step in [1, 1000] {
            let stream = b": hi\n\nid: 1\ndata: a\n\ndata: b\r\rdata: c\n\r\nretry: 1";
            let pieces = cut(FrameBoundary::Block, stream, step, 100);
            let joined: Vec<u8> = pieces.iter().flat_map(|piece| bytes(piece).to_vec()).collect();
            assert_eq!(joined, stream);
            assert_eq!(pieces[..2], [": hi\n\n", "id: 1\ndata: a\n\n"].map(whole), "{step}");
            // Half of a line break that comes late belongs to the next block, where it means nothing.
            let last = pieces.last().map(|piece| bytes(piece).trim_ascii_start());
            assert_eq!((pieces.len(), last), (5, Some(&b"retry: 1"[..])), "{step}");
        }
    }

    #[test]
    fn what_is_too_long_goes_on_in_parts() {
        let pieces = cut(FrameBoundary::Line, b"0123456789abc\nok\n", 4, 10);
        let part =
            |text: &'static str, last| FramePiece::Part { bytes: Bytes::from_static(text.as_bytes()), last };
        assert_eq!(pieces, [part("0123456789ab", false), part("c\n", true), whole("ok\n")]);
    }

    #[test]
    fn only_the_data_of_a_block_is_written_anew() {
        let block = b": c\r\nid: 7\r\ndata: old\r\ndata: line\r\nevent: message\r\n\r\n";
        let changed = replace_data(block, Some(b"{}"));
        assert_eq!(changed, ": c\r\nid: 7\r\ndata: {}\nevent: message\r\n\r\n");
        assert_eq!(replace_data(block, None), ": c\r\nid: 7\r\nevent: message\r\n\r\n");
    }

    fn bytes(piece: &FramePiece) -> &Bytes {
        match piece {
            FramePiece::Whole(bytes) | FramePiece::Part { bytes, .. } => bytes,
        }
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(
            stream in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'd'), any::<u8>()], 0..200),
            step in 1_usize..20,
            limit in 1_usize..50,
        ) {
            for boundary in [FrameBoundary::Line, FrameBoundary::Block] {
                let pieces = cut(boundary, &stream, step, limit);
                let joined: Vec<u8> = pieces.iter().flat_map(|piece| bytes(piece).to_vec()).collect();
                prop_assert_eq!(&joined, &stream);
            }
        }
    }
}

//! One message is one line.

use std::io;

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::Limits;

/// How much of a line that is too long is shown.
const PREFIX: usize = 256;

/// Reads lines that may be hostile.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
    line: BytesMut,
    /// The line is too long: nothing is kept until it ends.
    skipping: bool,
    empty: bool,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A message, without its line ending.
    Frame(Bytes),
    /// A line longer than [`Limits::message_bytes`]. It is told once, as soon as it is known; the rest is skipped.
    TooLong {
        /// How it begins.
        prefix: Bytes,
    },
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads the lines of a stream.
    pub fn new(reader: R, limits: &Limits) -> Self {
        Self {
            reader: BufReader::new(reader),
            limit: limits.message_bytes,
            line: BytesMut::new(),
            skipping: false,
            empty: false,
        }
    }

    /// The same, where an empty line is a line too: it says something in a conversation, and nothing between messages.
    #[must_use]
    pub fn with_empty(self) -> Self {
        Self { empty: true, ..self }
    }

    /// The next line that is not empty, unless [empty ones](Self::with_empty) count; `None` at the end of the stream. A last line needs no line break.
    ///
    /// It may be dropped while it waits without losing anything.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            let used = part.len() + usize::from(end.is_some());
            let ended = end.is_some() || available.is_empty();
            if !self.skipping {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(used);
            if self.line.len() > self.limit {
                let line = std::mem::take(&mut self.line);
                self.skipping = !ended;
                return Ok(Some(Line::TooLong {
                    prefix: Bytes::copy_from_slice(&line[..PREFIX.min(line.len())]),
                }));
            }
            if ended {
                let skipped = std::mem::take(&mut self.skipping);
                let mut line = std::mem::take(&mut self.line);
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len() - 1);
                }
                if !line.is_empty() || (self.empty && end.is_some() && !skipped) {
                    return Ok(Some(Line::Frame(line.freeze())));
                }
                if used == 0 {
                    return Ok(None);
                }
            }
        }
    }
}

/// Writes a message as one line, in one piece.
///
/// Line breaks in it become spaces. In JSON they can only stand between tokens, where a space means the same.
///
/// Not to be dropped while it waits, and not for two writers at once: a part of a line may have been written. That may be so
/// after an error too, so nothing more can be said then. Among them are a reader that has gone (a broken pipe), and one that
/// did not take the line within [`Limits::write_timeout`].
pub async fn write_line<W: AsyncWrite + Unpin>(
    writer: &mut W,
    frame: &[u8],
    limits: &Limits,
) -> io::Result<()> {
    let mut line = BytesMut::with_capacity(frame.len() + 1);
    line.put_slice(frame);
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\r', b'\n', &line[from..]) {
        line[from + at] = b' ';
        from += at + 1;
    }
    line.put_u8(b'\n');
    let write = async {
        writer.write_all(&line).await?;
        writer.flush().await
    };
    match tokio::time::timeout(limits.write_timeout, write).await {
        Ok(written) => written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => io::Error::new(error.kind(), "the reader has gone"),
            kind => io::Error::new(kind, format!("cannot write: {error}")),
        }),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the reader is too slow")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    fn short() -> Limits {
        Limits { message_bytes: 10, ..Limits::default() }
    }

    async fn all(bytes: &[u8]) -> Vec<Line> {
        read(Lines::new(bytes, &short())).await
    }

    async fn read(mut lines: Lines<&[u8]>) -> Vec<Line> {
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    fn frame(text: &'static str) -> Line {
        Line::Frame(text.into())
    }

    fn too_long(prefix: &'static str) -> Line {
        Line::TooLong { prefix: prefix.into() }
    }

    #[tokio::test]
    async fn lines_are_messages_whatever_ends_them() {
        assert_eq!(
            all(b"one\ntwo\r\n\n\r\n\n three \nlast").await,
            ["one", "two", " three ", "last"].map(frame)
        );
        assert_eq!(all(b"").await, []);
        assert_eq!(all(b"\n\n").await, []);
        assert_eq!(all(b"a\r").await, [frame("a")]);
    }

    #[tokio::test]
    async fn an_empty_line_is_one_where_it_counts() {
        let with_empty = async |bytes| read(Lines::new(bytes, &short()).with_empty()).await;
        assert_eq!(with_empty(b"one\n\n\r\ntwo").await, ["one", "", "", "two"].map(frame));
        assert_eq!(with_empty(b"").await, []);
        // What is left of a line that was too long is not a line.
        assert_eq!(
            with_empty(b"0123456789x\n\nok\n").await,
            [too_long("0123456789x"), frame(""), frame("ok")]
        );
        let long = ["x".repeat(20_000).as_bytes(), b"\n\n"].concat();
        let lines = with_empty(&long).await;
        assert!(
            matches!(&lines[..], [Line::TooLong { .. }, Line::Frame(empty)] if empty.is_empty()),
            "{lines:?}"
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_told_once_and_the_next_is_read() {
        assert_eq!(
            all(b"0123456789\n0123456789x\nok\n").await,
            [frame("0123456789"), too_long("0123456789x"), frame("ok")]
        );
        assert_eq!(all(b"0123456789x").await, [too_long("0123456789x")]);
    }

    #[tokio::test]
    async fn a_line_of_100_megabytes_takes_no_memory() {
        let limits = Limits { message_bytes: 1000, ..Limits::default() };
        let (mut writer, reader) = duplex(1 << 16);
        tokio::spawn(async move {
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..100 {
                writer.write_all(&piece).await.unwrap();
            }
            writer.write_all(b"\nok\n").await.unwrap();
        });
        let mut lines = Lines::new(reader, &limits);
        let Some(Line::TooLong { prefix }) = lines.next().await.unwrap() else { panic!() };
        assert_eq!(prefix, vec![b'x'; PREFIX]);
        assert_eq!(lines.next().await.unwrap(), Some(frame("ok")));
        assert!(lines.line.capacity() <= 1000);
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_was_read_is_kept_when_a_reader_is_dropped_while_it_waits() {
        let (mut writer, reader) = duplex(100);
        let mut lines = Lines::new(reader, &Limits::default());
        writer.write_all(b"hal").await.unwrap();
        tokio::select! {
            biased;
            line = lines.next() => panic!("{line:?}"),
            () = tokio::task::yield_now() => {}
        }
        writer.write_all(b"f\n").await.unwrap();
        assert_eq!(lines.next().await.unwrap(), Some(frame("half")));
    }

    #[tokio::test]
    async fn a_message_is_one_line_whatever_is_in_it() {
        let mut written = Vec::new();
        write_line(&mut written, b"{\n\t\"a\":\r\n1}\n", &Limits::default()).await.unwrap();
        assert_eq!(written, b"{ \t\"a\":  1} \n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_does_not_read_or_has_gone_is_told() {
        let (mut writer, reader) = duplex(10);
        let written = write_line(&mut writer, &[b'x'; 100], &Limits::default()).await;
        assert_eq!(written.unwrap_err().to_string(), "the reader is too slow");
        drop(reader);
        let written = write_line(&mut writer, b"x", &Limits::default()).await;
        assert_eq!(written.unwrap_err().to_string(), "the reader has gone");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(frames in prop::collection::vec("[^\r\n]{1,20}", 0..5)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let limits = Limits::default();
                let mut written = Vec::new();
                for frame in &frames {
                    write_line(&mut written, frame.as_bytes(), &limits).await.unwrap();
                }
                let mut lines = Lines::new(&written[..], &limits);
                for frame in frames {
                    assert_eq!(lines.next().await.unwrap(), Some(Line::Frame(frame.into())));
                }
                assert_eq!(lines.next().await.unwrap(), None);
            });
        }
    }
}

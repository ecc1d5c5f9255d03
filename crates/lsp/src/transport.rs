//! Messages over a pair of pipes.
//!
//! `lsp-server` allocates as much as a header asks for. Here a message is refused by its header, and memory grows with what arrives.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
use lsp_server::{Connection, Message, Notification};
use lsp_types::notification::{Exit, Notification as _};

/// The longest message that is read. A document at its limit, with every byte of it escaped, takes a fifth of that.
pub(crate) const MAX_MESSAGE_BYTES: u64 = 64 * 1024 * 1024;
/// The longest header that is read.
const MAX_HEADER_BYTES: u64 = 8 * 1024;

/// Why the pipes ended before the editor said `exit`.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// A pipe is broken.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A header is too long, is cut off, or names no length.
    #[error("a message of the editor has no header that says how long it is")]
    Header,
    /// The editor announced a message that is too long.
    #[error("the editor sent a message of {0} bytes; {MAX_MESSAGE_BYTES} are the limit")]
    TooLong(u64),
    /// A message is not JSON-RPC.
    #[error("a message of the editor is not JSON-RPC: {0}")]
    Message(#[from] serde_json::Error),
}

/// The threads that read and write.
pub(crate) struct Pipes {
    reader: JoinHandle<Result<(), TransportError>>,
    writer: JoinHandle<Result<(), TransportError>>,
}

impl Pipes {
    /// Waits for the threads, which end when the editor is gone or has said `exit`, and when nobody can send any more.
    pub(crate) fn join(self) -> Result<(), TransportError> {
        let gone = |_| Err(TransportError::Io(io::ErrorKind::BrokenPipe.into()));
        let (read, written) =
            (self.reader.join().unwrap_or_else(gone), self.writer.join().unwrap_or_else(gone));
        read.and(written)
    }

    /// Waits until everything that was sent is written. The editor may go on sending.
    pub(crate) fn write_rest(self) {
        // Why the connection ends is known already.
        let _ = self.writer.join();
    }
}

/// A connection whose messages come from one pipe, and go into the other. A message is read when the one before has been taken.
pub(crate) fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> (Connection, Pipes) {
    let (arrive, receiver) = bounded(0);
    let (sender, leaving) = bounded(0);
    let pipes = Pipes {
        reader: thread::spawn(move || read_messages(input, &arrive)),
        writer: thread::spawn(move || write_messages(output, &leaving)),
    };
    (Connection { sender, receiver }, pipes)
}

fn read_messages(input: impl Read, arrive: &Sender<Message>) -> Result<(), TransportError> {
    let mut input = BufReader::new(input);
    while let Some(message) = read_message(&mut input)? {
        let is_exit =
            matches!(&message, Message::Notification(Notification { method, .. }) if method == Exit::METHOD);
        if arrive.send(message).is_err() || is_exit {
            break;
        }
    }
    Ok(())
}

fn write_messages(mut output: impl Write, leaving: &Receiver<Message>) -> Result<(), TransportError> {
    for message in leaving {
        message.write(&mut output)?;
    }
    Ok(())
}

/// The next message; `None` where the input ends before it.
fn read_message(input: &mut impl BufRead) -> Result<Option<Message>, TransportError> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    if length > MAX_MESSAGE_BYTES {
        return Err(TransportError::TooLong(length));
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// The length that a header names; `None` where the input ends before it.
fn read_header(input: &mut impl BufRead) -> Result<Option<u64>, TransportError> {
    let mut header = input.take(MAX_HEADER_BYTES);
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if header.read_until(b'\n', &mut line)? == 0 {
            let is_end = header.limit() == MAX_HEADER_BYTES;
            return if is_end { Ok(None) } else { Err(TransportError::Header) };
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return length.map(Some).ok_or(TransportError::Header);
        }
        let text = std::str::from_utf8(text).map_err(|_| TransportError::Header)?;
        let (name, value) = text.split_once(':').ok_or(TransportError::Header)?;
        if name.eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse().map_err(|_| TransportError::Header)?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Result<Option<Message>, TransportError> {
        read_message(&mut &input[..])
    }

    #[test]
    fn messages_follow_each_other_whatever_else_their_headers_say() {
        let body = r#"{"jsonrpc":"2.0","method":"é","params":{}}"#;
        let (bytes, kind) = (body.len(), "application/vscode-jsonrpc; charset=utf-8");
        let input = format!(
            "content-length: {bytes}\r\nContent-Type: {kind}\r\n\r\n{body}Content-Length:{bytes}\n\n{body}"
        );
        let mut input = input.as_bytes();
        for _ in 0..2 {
            let message = read_message(&mut input).unwrap();
            assert!(matches!(message, Some(Message::Notification(told)) if told.method == "é"));
        }
        assert!(read_message(&mut input).unwrap().is_none());
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_header() {
        for length in [MAX_MESSAGE_BYTES + 1, u64::MAX] {
            let refused = read(format!("Content-Length: {length}\r\n\r\n{{}}").as_bytes());
            assert!(matches!(refused, Err(TransportError::TooLong(said)) if said == length), "{refused:?}");
        }
        let short = read(format!("Content-Length: {MAX_MESSAGE_BYTES}\r\n\r\n{{}}").as_bytes());
        assert!(matches!(short, Err(TransportError::Message(_))), "{short:?}");
    }

    #[test]
    fn headers_without_an_end_or_a_length_are_refused() {
        let endless = format!("X: {}", "x".repeat(100_000));
        let many = "X: y\r\n".repeat(10_000);
        for header in [
            "Content-Length: 2",
            "Content-Length: 2\r\n",
            "\r\n{}",
            "Content-Type: x\r\n\r\n{}",
            "Content-Length: -2\r\n\r\n{}",
            "Content-Length: 99999999999999999999\r\n\r\n{}",
            "no header\r\n\r\n{}",
            &endless,
            &many,
        ] {
            let refused = read(header.as_bytes());
            assert!(matches!(refused, Err(TransportError::Header)), "{header:.40}: {refused:?}");
        }
        assert!(matches!(read(b"\xff: 1\r\n\r\n"), Err(TransportError::Header)));
        assert!(read(b"").unwrap().is_none());
    }
}

//! Standard input and output on both sides.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Crossed, Measured};
use super::frames::{FramePiece, LineFrames, split_ending};
use super::tap::{Onward, RelayFault, RelaySide, Tap};
use crate::stdio::{Child, SpawnError, StderrEnd};
use crate::{Endpoint, Limits};

/// How long we wait to learn how a process ended that has closed its output.
const EXIT_PATIENCE: Duration = Duration::from_millis(500);

/// How long a server may take to end once nobody asks it anything, and then when it is asked to.
pub(super) const CLOSING: Duration = Duration::from_millis(500);

/// Relays between two streams and a process, until one side has gone or `stop`.
pub(super) async fn relay<T: Tap>(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    server: ServerProcess,
    conversation: &Arc<Conversation<T>>,
    limits: Limits,
    stop: CancellationToken,
) {
    let ServerProcess { mut process, input, output } = server;
    let client = Arc::new(LineSink::new(writer));
    let requests = LineFrames::new(reader, &limits);
    let mut up = Box::pin(pump(conversation, RelaySide::Client, requests, &input, &client));
    let mut down = Box::pin(pump(conversation, RelaySide::Server, output, &client, &input));
    let gone = tokio::select! {
        side = &mut up => Some(side),
        side = &mut down => Some(side),
        () = stop.cancelled() => None,
    };
    // It may hold the input in the middle of a line.
    drop(up);
    match gone {
        Some(RelaySide::Server) => {
            let reason = process.last_words().await;
            conversation.fault(&RelayFault::ServerGone(reason));
        }
        Some(RelaySide::Client) => {
            // A client that closes its end may still read what the server finishes.
            input.close().await;
            let _ = tokio::time::timeout(CLOSING, &mut down).await;
            conversation.client_gone();
        }
        None => input.close().await,
    }
    process.end().await;
}

/// Passes on what one side says, until it says nothing more or the other does not listen. Gives the side that has gone.
async fn pump<T: Tap, W: AsyncWrite + Unpin + Send + 'static, B: AsyncWrite + Unpin + Send + 'static>(
    conversation: &Arc<Conversation<T>>,
    side: RelaySide,
    mut frames: LineFrames<impl AsyncRead + Unpin>,
    onward: &Arc<LineSink<W>>,
    back: &Arc<LineSink<B>>,
) -> RelaySide {
    let mut measured = Measured::new();
    // What cannot be read any more has ended.
    while let Ok(Some(piece)) = frames.next().await {
        let passed = match piece {
            FramePiece::Whole(line) => pass_line(conversation, side, line, onward, back).await,
            FramePiece::Part { bytes, last } => {
                measured.take(&bytes);
                let passed = onward.write_part(&bytes, last).await;
                if last {
                    conversation.overlong(side, None, &std::mem::replace(&mut measured, Measured::new()));
                }
                passed
            }
        };
        if passed.is_err() {
            return side.other();
        }
    }
    side
}

/// Passes on one line, or what it becomes.
async fn pass_line<T: Tap, W: AsyncWrite + Unpin + Send + 'static, B: AsyncWrite + Unpin + Send + 'static>(
    conversation: &Conversation<T>,
    side: RelaySide,
    line: Bytes,
    onward: &Arc<LineSink<W>>,
    back: &Arc<LineSink<B>>,
) -> io::Result<()> {
    let (text, ending) = split_ending(&line);
    if text.trim_ascii().is_empty() {
        return onward.write(&line).await;
    }
    let mut crossed = conversation.cross(side, &text);
    if let Some(answer) = crossed.back.take() {
        let own = Crossed { delay: crossed.delay, done: std::mem::take(&mut crossed.done), ..Crossed::new() };
        // Whoever does not take it has gone, and is found out when it is read from.
        let _ = write_later(back, as_line(&answer), own).await;
    }
    match std::mem::take(&mut crossed.onward) {
        Onward::Same => write_later(onward, line, crossed).await,
        Onward::Changed(message) => write_later(onward, joined(&message, &ending), crossed).await,
        Onward::Nothing | Onward::Answered(_) => Ok(()),
    }
}

/// Writes a line when its time has come. Those that follow it do not wait.
pub(super) async fn write_later<A: Send + Sync + 'static, W: AsyncWrite + Unpin + Send + 'static>(
    sink: &Arc<LineSink<W>>,
    line: Bytes,
    crossed: Crossed<A>,
) -> io::Result<()> {
    if crossed.delay.is_zero() {
        return sink.write(&line).await;
    }
    let sink = sink.clone();
    tokio::spawn(async move {
        tokio::time::sleep(crossed.delay).await;
        // A reader that has gone meanwhile needs it no more.
        let _ = sink.write(&line).await;
        drop(crossed);
    });
    Ok(())
}

/// A message as a line: what came in its place may have been changed, and its line break stays.
fn joined(message: &[u8], ending: &[u8]) -> Bytes {
    let mut line = BytesMut::with_capacity(message.len() + ending.len());
    line.extend_from_slice(message);
    line.extend_from_slice(ending);
    line.freeze()
}

/// A message as a line: line breaks in it, which stand between tokens, become spaces.
pub(super) fn as_line(message: &[u8]) -> Bytes {
    let space = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
    message.iter().map(space).chain([b'\n']).collect()
}

/// Where lines go. A line is never mixed with another.
#[derive(Debug)]
pub(super) struct LineSink<W> {
    /// `None` once it is closed.
    writer: Mutex<Option<W>>,
    /// Held between the parts of a line that is written in parts.
    turn: Arc<Mutex<()>>,
    begun: Mutex<Option<tokio::sync::OwnedMutexGuard<()>>>,
}

impl<W: AsyncWrite + Unpin> LineSink<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer: Mutex::new(Some(writer)), turn: Arc::default(), begun: Mutex::new(None) }
    }

    /// Writes whole lines.
    pub(super) async fn write(&self, lines: &[u8]) -> io::Result<()> {
        let _turn = self.turn.lock().await;
        self.put(lines).await
    }

    /// Writes a message as a line.
    pub(super) async fn write_line(&self, message: &[u8]) -> io::Result<()> {
        self.write(&as_line(message)).await
    }

    /// Writes a part of a line. Other lines wait until the last one is written.
    async fn write_part(&self, part: &[u8], last: bool) -> io::Result<()> {
        let mut begun = self.begun.lock().await;
        if begun.is_none() {
            *begun = Some(self.turn.clone().lock_owned().await);
        }
        let written = self.put(part).await;
        if last || written.is_err() {
            *begun = None;
        }
        written
    }

    async fn put(&self, bytes: &[u8]) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writer.write_all(bytes).await?;
        writer.flush().await
    }

    /// Nothing more is written: the reader is told so.
    pub(super) async fn close(&self) {
        *self.writer.lock().await = None;
    }
}

/// A server that is a process of ours, just started.
pub(super) struct ServerProcess {
    pub(super) process: Process,
    pub(super) input: Arc<LineSink<ChildStdin>>,
    pub(super) output: LineFrames<ChildStdout>,
}

/// The process itself, apart from what it is told and says.
pub(super) struct Process {
    child: Child,
    stderr: StderrEnd,
}

impl ServerProcess {
    pub(super) fn start(
        command: &[String],
        endpoint: &Endpoint,
        limits: &Limits,
    ) -> Result<Self, SpawnError> {
        let mut child = Child::spawn(command, &endpoint.env)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("a process that was just started has pipes");
        };
        let stderr = child.read_stderr();
        Ok(Self {
            process: Process { child, stderr },
            input: Arc::new(LineSink::new(stdin)),
            output: LineFrames::new(stdout, limits),
        })
    }
}

impl Process {
    /// Why it has closed its output.
    pub(super) async fn last_words(&mut self) -> String {
        let otherwise = "the process has closed its output".to_owned();
        self.child.last_words(self.stderr.take(), EXIT_PATIENCE, otherwise).await
    }

    /// Ends it and all that it started.
    pub(super) async fn end(mut self) {
        // What cannot be ended is killed when the child is dropped.
        let _ = self.child.end(CLOSING).await;
    }
}

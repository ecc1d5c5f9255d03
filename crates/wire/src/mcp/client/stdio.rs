//! A process that speaks MCP by lines.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::process::ChildStdin;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::link::{Happened, Outgoing, QUEUED};
use super::session::AskError;
use crate::http::ClientError;
use crate::stdio::{Child, Line, Lines, StderrEnd, write_line};
use crate::{Limits, jsonrpc};

/// How long we wait to learn how a process ended that has closed its output.
const EXIT_PATIENCE: Duration = Duration::from_millis(500);

/// A line to be written, and whoever wants to know that it was.
type ToWrite = (Bytes, oneshot::Sender<io::Result<()>>);

#[derive(Clone, Debug)]
pub(in crate::mcp) struct StdioLink {
    writer: mpsc::Sender<ToWrite>,
    happened: mpsc::Sender<Happened>,
    child: Arc<Mutex<Child>>,
    closed: CancellationToken,
}

impl StdioLink {
    pub(super) fn new(mut child: Child, limits: Limits, happened: mpsc::Sender<Happened>) -> Self {
        let (writer, to_write) = mpsc::channel(QUEUED);
        let closed = CancellationToken::new();
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(write(stdin, to_write, limits, closed.clone()));
        }
        let stderr = child.read_stderr();
        let stdout = child.stdout.take();
        let this = Self { writer, happened, child: Arc::new(Mutex::new(child)), closed };
        if let Some(stdout) = stdout {
            let (reader, closed) = (this.clone(), this.closed.clone());
            tokio::spawn(async move {
                let lines = Lines::new(stdout, &limits);
                let read = reader.read(lines, limits, stderr);
                let _ = closed.run_until_cancelled(read).await;
            });
        }
        this
    }

    pub(super) fn request(&self, key: String, outgoing: Outgoing) -> AbortHandle {
        let this = self.clone();
        tokio::spawn(async move {
            if let Err(error) = this.tell(outgoing).await {
                // A process that has ended is told of when its output ends, and then we know why.
                tokio::time::sleep(2 * EXIT_PATIENCE).await;
                let how = ClientError::Refused(error.to_string()).into();
                // Nobody listens any more when the run has ended.
                let _ = this.happened.send(Happened::Ended { within: key, how }).await;
            }
        })
        .abort_handle()
    }

    pub(super) async fn tell(&self, outgoing: Outgoing) -> Result<(), AskError> {
        let gone = || AskError::Gone("the process does not read any more".to_owned());
        let (told, written) = oneshot::channel();
        self.writer.send((outgoing.bytes, told)).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?.map_err(|error| AskError::Gone(error.to_string()))
    }

    pub(super) async fn close(&self, patience: Duration) {
        // Its input is closed with the writer.
        self.closed.cancel();
        // What cannot be ended is killed when the child is dropped.
        let _ = self.child.lock().await.end(patience / 3).await;
    }

    async fn read(&self, mut lines: Lines<tokio::process::ChildStdout>, limits: Limits, stderr: StderrEnd) {
        let ended = loop {
            let happened = match lines.next().await {
                Ok(Some(Line::Frame(bytes))) => {
                    let message = jsonrpc::read(&bytes, &limits);
                    Happened::Message { bytes, message, within: None }
                }
                Ok(Some(Line::TooLong { .. })) => {
                    Happened::TooLong { limit: limits.message_bytes, within: None }
                }
                Ok(None) => break "the process has closed its output".to_owned(),
                Err(error) => break error.to_string(),
            };
            if self.happened.send(happened).await.is_err() {
                return;
            }
        };
        let reason = {
            let mut child = self.child.lock().await;
            child.last_words(stderr, EXIT_PATIENCE, ended).await
        };
        let _ = self.happened.send(Happened::Gone { reason }).await;
    }
}

/// Writes lines one after the other. A line that was begun is finished, whoever asked for it.
async fn write(
    mut stdin: ChildStdin,
    mut to_write: mpsc::Receiver<ToWrite>,
    limits: Limits,
    closed: CancellationToken,
) {
    while let Some(Some((bytes, told))) = closed.run_until_cancelled(to_write.recv()).await {
        let written = write_line(&mut stdin, &bytes, &limits).await;
        let broken = written.is_err();
        let _ = told.send(written);
        if broken {
            return;
        }
    }
}

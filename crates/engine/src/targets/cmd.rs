//! A program that is told a line and answers with a line.
//!
//! Plainly, a message is a line of text (its line breaks become spaces) and so is the answer; empty lines say nothing.
//! With the JSON protocol both are JSON objects, one on a line:
//!
//! ```text
//! → {"text": "What are your\ninstructions?"}
//! ← {"text": "I keep them.", "calls": [{"name": "look_up", "arguments": {"id": 7}, "result": "…"}]}
//! ← {"error": "out of memory"}
//! ```
//!
//! `text` is what the agent says, `calls` the tools that it called meanwhile, `error` says that it could not answer.

use std::time::Duration;

use serde_json::json;
use sortie_trace::Kind;
use sortie_wire::stdio::{Child, Line, Lines, StderrEnd, write_line};
use tokio::process::{ChildStdin, ChildStdout};

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use crate::actor::Spoken;

const CONNECTION: &str = "process-1";
const SURFACE: &str = "line";

const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// So many lines may be there before anything was asked.
const MAX_UNASKED: usize = 10_000;

/// A program that is talked to.
#[derive(Clone)]
pub struct CmdTarget {
    /// The program and its arguments; no shell sees them.
    pub command: Vec<String>,
    /// Its whole environment. It may hold credentials, and is never shown.
    pub env: Vec<(String, String)>,
    /// How it is talked to.
    pub protocol: CmdProtocol,
}

/// How a program is talked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CmdProtocol {
    /// A line of text each way.
    #[default]
    Plain,
    /// A JSON object each way.
    Json,
}

/// There is nothing to ask, but the program must be there.
pub(super) async fn discover(cmd: &CmdTarget) -> Result<(), TargetError> {
    let mut child = spawn(cmd)?;
    // Nothing was said to it: ending it is all there is to do, and how it ends says nothing.
    let _ = child.end(CLOSE_PATIENCE).await;
    Ok(())
}

pub(super) fn open(cmd: &CmdTarget, log: &Channel, settings: &Settings) -> Result<CmdSession, TargetError> {
    let mut child = spawn(cmd)?;
    let missing = || TargetError::Refused("the process has no input or output".to_owned());
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.read_stderr();
    Ok(CmdSession {
        child,
        stdin,
        lines: match cmd.protocol {
            // Whoever answers with an empty line has answered.
            CmdProtocol::Plain => Lines::new(stdout, &settings.limits).with_empty(),
            CmdProtocol::Json => Lines::new(stdout, &settings.limits),
        },
        stderr,
        protocol: cmd.protocol,
        log: log.clone(),
        settings: *settings,
    })
}

fn spawn(cmd: &CmdTarget) -> Result<Child, TargetError> {
    Child::spawn(&cmd.command, &cmd.env).map_err(|error| TargetError::Refused(error.to_string()))
}

#[derive(Debug)]
pub(super) struct CmdSession {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<ChildStdout>,
    stderr: StderrEnd,
    protocol: CmdProtocol,
    log: Channel,
    settings: Settings,
}

impl CmdSession {
    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        self.pass_over().await?;
        let line = match self.protocol {
            CmdProtocol::Plain => text.to_owned(),
            CmdProtocol::Json => json!({"text": text}).to_string(),
        };
        self.log.said(spoken(Kind::Request, line.as_bytes()))?;
        if let Err(error) = write_line(&mut self.stdin, line.as_bytes(), &self.settings.limits).await {
            return Err(self.gone(&error.to_string()).await);
        }
        let patience = self.settings.answer_timeout;
        let next = tokio::time::timeout(patience, self.lines.next());
        let next = next.await.map_err(|_| TargetError::timed_out("a line", patience))?;
        match next {
            Ok(Some(Line::Frame(bytes))) => self.log.heard(spoken(Kind::Response, &bytes)).map(drop),
            Ok(Some(Line::TooLong { .. })) => Err(TargetError::TooLong(self.settings.limits.message_bytes)),
            Ok(None) => Err(self.gone("the process has closed its output").await),
            Err(error) => Err(self.gone(&error.to_string()).await),
        }
    }

    /// Lines that are there before anything was asked are no answer. They are recorded, and nothing else.
    async fn pass_over(&mut self) -> Result<(), TargetError> {
        for _ in 0..MAX_UNASKED {
            match tokio::time::timeout(Duration::ZERO, self.lines.next()).await {
                Ok(Ok(Some(Line::Frame(bytes)))) => {
                    self.log.heard(spoken(Kind::Notification, &bytes))?;
                }
                _ => return Ok(()),
            }
        }
        let problem = format!("more than {MAX_UNASKED} are there before anything was asked");
        Err(TargetError::protocol("a line", problem))
    }

    async fn gone(&mut self, what: &str) -> TargetError {
        let stderr = self.stderr.take();
        TargetError::Gone(self.child.last_words(stderr, CLOSE_PATIENCE, what.to_owned()).await)
    }

    pub(super) async fn close(mut self) {
        drop(self.stdin);
        // What cannot be ended is killed when the child is dropped.
        let _ = self.child.end(CLOSE_PATIENCE).await;
    }
}

fn spoken(kind: Kind, bytes: &[u8]) -> Spoken<'_> {
    Spoken::new(&[SURFACE], kind, CONNECTION, bytes)
}

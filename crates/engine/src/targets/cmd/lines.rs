//! Programs that answer with one line.

use std::time::Duration;

use serde_json::json;
use sortie_evaluators::cases::excerpt;
use sortie_trace::Kind;
use sortie_wire::stdio::{Line, Lines};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use super::{CmdProtocol, Process, Speech};
use crate::targets::error::TargetError;

/// So many lines may be there before anything was asked.
const MAX_UNASKED: usize = 10_000;

/// A conversation in lines.
#[derive(Debug)]
pub(in crate::targets) struct LineSession {
    pub(super) process: Process,
    lines: Lines<ChildStdout>,
    protocol: CmdProtocol,
    speech: Speech,
    has_answered: bool,
}

impl LineSession {
    pub(super) fn new(process: Process, stdout: ChildStdout, protocol: CmdProtocol, speech: Speech) -> Self {
        let lines = Lines::new(stdout, &speech.settings.limits);
        // Whoever answers with an empty line has answered.
        let lines = if protocol == CmdProtocol::Json { lines } else { lines.with_empty() };
        Self { process, lines, protocol, speech, has_answered: false }
    }

    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        self.take_unasked(Duration::ZERO).await?;
        let line = match self.protocol {
            CmdProtocol::Json => json!({"text": text}).to_string(),
            _ => text.to_owned(),
        };
        self.speech.said(line.as_bytes())?;
        let settings = self.speech.settings;
        self.process.write_line(line.as_bytes(), &settings).await?;
        let patience = settings.answer_timeout;
        let next = timeout(patience, self.lines.next());
        let next = next.await.map_err(|_| TargetError::timed_out("a line", patience))?;
        match next {
            Ok(Some(Line::Frame(bytes))) => {
                self.has_answered = true;
                self.speech.heard(Kind::Response, &bytes)
            }
            Ok(Some(Line::TooLong { .. })) => Err(TargetError::TooLong(settings.limits.message_bytes)),
            Ok(None) => Err(self.process.gone("the process has closed its output").await),
            Err(error) => Err(self.process.gone(&error.to_string()).await),
        }
    }

    /// Tells the program that nothing more comes. A line that it still says is one too many.
    pub(super) async fn finish(&mut self) -> Result<(), TargetError> {
        self.process.stdin = None;
        self.take_unasked(self.speech.settings.answer_timeout).await
    }

    /// Lines that come without a question, until there are none or the time is over. Before the first message they are a
    /// greeting, which is recorded; after an answer they are a part of it that the protocol has no room for.
    async fn take_unasked(&mut self, patience: Duration) -> Result<(), TargetError> {
        let until = tokio::time::Instant::now() + patience;
        for _ in 0..MAX_UNASKED {
            let wait = until.saturating_duration_since(tokio::time::Instant::now());
            match timeout(wait, self.lines.next()).await {
                Ok(Ok(Some(Line::Frame(bytes)))) => {
                    self.speech.heard(Kind::Notification, &bytes)?;
                    if self.has_answered && !bytes.is_empty() {
                        return Err(self.surplus(&bytes));
                    }
                }
                Ok(Ok(Some(Line::TooLong { .. }))) => {
                    return Err(TargetError::TooLong(self.speech.settings.limits.message_bytes));
                }
                Ok(Ok(None) | Err(_)) | Err(_) => return Ok(()),
            }
        }
        let problem = format!("more than {MAX_UNASKED} are there before anything was asked");
        Err(TargetError::protocol("a line", problem))
    }

    fn surplus(&self, line: &[u8]) -> TargetError {
        let (protocol, line) = (self.protocol.as_str(), excerpt(line));
        TargetError::protocol(
            "a line",
            format!(
                "the answer has more than one line, which the protocol `{protocol}` does not allow; the next one is \
                 `{line}`: use the protocol `text`, where an answer may have any number of lines"
            ),
        )
    }
}

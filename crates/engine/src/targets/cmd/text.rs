//! Programs whose answers are text of any number of lines.
//!
//! Nothing in the output says where an answer ends. So it ends when the program has written at least one line and then
//! nothing for [`Settings::quiet`](crate::targets::Settings::quiet), or when it closes its output. What it writes later, before the next
//! message or before it ends, belongs to the same answer: it is recorded, and the transcript joins it.

use std::time::Duration;

use sortie_trace::Kind;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::{Instant, timeout};

use super::{Process, Speech, without_line_break};
use crate::targets::error::TargetError;

/// How much is read at once, at least.
const PIECE: usize = 8 * 1024;

/// A conversation in text.
#[derive(Debug)]
pub(in crate::targets) struct TextSession {
    pub(super) process: Process,
    stdout: ChildStdout,
    /// What was read, and is in no record yet.
    unrecorded: Vec<u8>,
    is_over: bool,
    speech: Speech,
    has_answered: bool,
}

/// How long is read.
#[derive(Clone, Copy)]
enum Until {
    /// Until a whole line is there, and then nothing for so long.
    Pause(Duration),
    /// Until the program closes its output.
    End,
}

/// Why nothing more is read.
enum Stopped {
    /// The program was silent after a line.
    Pause,
    /// The program has closed its output.
    End,
    /// There was no more time.
    TimeOver,
}

impl TextSession {
    pub(super) fn new(process: Process, stdout: ChildStdout, speech: Speech) -> Self {
        Self { process, stdout, unrecorded: Vec::new(), is_over: false, speech, has_answered: false }
    }

    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        self.read(Duration::ZERO, Until::Pause(Duration::ZERO)).await?;
        self.record()?;
        self.speech.said(text.as_bytes())?;
        let settings = self.speech.settings;
        self.process.write_line(text.as_bytes(), &settings).await?;
        let stopped = self.read(settings.answer_timeout, Until::Pause(settings.quiet)).await?;
        match stopped {
            Stopped::TimeOver => {
                // What is there is no whole answer, but somebody may want to see it.
                self.record()?;
                Err(TargetError::timed_out("a message", settings.answer_timeout))
            }
            Stopped::End if self.unrecorded.is_empty() => {
                Err(self.process.gone("the process has closed its output").await)
            }
            Stopped::Pause | Stopped::End => {
                self.has_answered = true;
                self.record()
            }
        }
    }

    /// Tells the program that nothing more comes, and reads what it still says until it ends.
    pub(super) async fn finish(&mut self) -> Result<(), TargetError> {
        self.process.stdin = None;
        self.read(self.speech.settings.answer_timeout, Until::End).await?;
        self.record()
    }

    /// Reads for `patience` at most.
    async fn read(&mut self, patience: Duration, until: Until) -> Result<Stopped, TargetError> {
        let (deadline, limit) = (Instant::now() + patience, self.speech.settings.limits.message_bytes);
        let mut has_line = false;
        while !self.is_over {
            let left = deadline.saturating_duration_since(Instant::now());
            let pause = match until {
                Until::Pause(quiet) if has_line && quiet <= left => Some(quiet),
                Until::Pause(_) | Until::End => None,
            };
            let known = self.unrecorded.len();
            self.unrecorded.reserve(PIECE);
            match timeout(pause.unwrap_or(left), self.stdout.read_buf(&mut self.unrecorded)).await {
                Ok(Ok(0) | Err(_)) => self.is_over = true,
                Ok(Ok(_)) => has_line |= self.unrecorded[known..].contains(&b'\n'),
                Err(_) if pause.is_some() => return Ok(Stopped::Pause),
                Err(_) => return Ok(Stopped::TimeOver),
            }
            if self.unrecorded.len() > limit {
                return Err(TargetError::TooLong(limit));
            }
        }
        Ok(Stopped::End)
    }

    /// Text before the first message is a greeting; every other text belongs to the last answer.
    fn record(&mut self) -> Result<(), TargetError> {
        let text = std::mem::take(&mut self.unrecorded);
        if text.is_empty() {
            return Ok(());
        }
        let kind = if self.has_answered { Kind::Response } else { Kind::Notification };
        self.speech.heard(kind, without_line_break(&text))
    }
}

//! Programs that are started for each message.
//!
//! The message stands for [`CmdTarget::MESSAGE`] in the command, else it is the whole standard input. All of the standard
//! output is the answer. A program that ends with anything but success has not answered.

use std::path::Path;

use sortie_trace::Kind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{CLOSE_PATIENCE, CmdTarget, Speech, spawn, without_line_break};
use crate::targets::error::TargetError;

/// Messages to a program that remembers none of them.
pub(in crate::targets) struct OnceSession {
    cmd: CmdTarget,
    speech: Speech,
}

impl std::fmt::Debug for OnceSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnceSession")
    }
}

impl OnceSession {
    pub(super) fn new(cmd: &CmdTarget, speech: Speech) -> Self {
        Self { cmd: cmd.clone(), speech }
    }

    pub(super) async fn say(&self, text: &str) -> Result<(), TargetError> {
        self.speech.said(text.as_bytes())?;
        let settings = self.speech.settings;
        let filled = |word: &String| word.replace(CmdTarget::MESSAGE, text);
        let command: Vec<String> = self.cmd.command.iter().map(filled).collect();
        let is_argument = CmdTarget::takes_message(&self.cmd.command);
        let mut child = spawn(&command, &self.cmd)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stderr = child.read_stderr();
        let write = async {
            if let Some(mut stdin) = stdin.filter(|_| !is_argument) {
                // Whoever does not read it may answer all the same.
                let _ = stdin.write_all(text.as_bytes()).await;
            }
        };
        let limit = settings.limits.message_bytes;
        let read = async {
            let mut answer = Vec::new();
            if let Some(stdout) = stdout {
                // A broken pipe is the end of what it said.
                let _ = stdout.take(limit as u64 + 1).read_to_end(&mut answer).await;
            }
            answer
        };
        let patience = settings.answer_timeout;
        // When the time is over, the process is dropped, and killed with that.
        let ((), answer) = timeout(patience, async { tokio::join!(write, read) })
            .await
            .map_err(|_| TargetError::timed_out("a message", patience))?;
        if answer.len() > limit {
            return Err(TargetError::TooLong(limit));
        }
        let status = timeout(patience, child.wait()).await;
        let is_answered = matches!(&status, Ok(Ok(status)) if status.success());
        let kind = if is_answered { Kind::Response } else { Kind::Error };
        if is_answered || !answer.is_empty() {
            self.speech.heard(kind, without_line_break(&answer))?;
        }
        if !is_answered {
            let otherwise = "the process has closed its output and goes on".to_owned();
            return Err(TargetError::Gone(child.last_words(stderr, CLOSE_PATIENCE, otherwise).await));
        }
        // What it has started ends with it.
        let _ = child.end(CLOSE_PATIENCE).await;
        Ok(())
    }
}

/// Looks for the program where starting it would look.
pub(super) fn find_program(cmd: &CmdTarget) -> Result<(), TargetError> {
    let name = cmd.command.first().map(String::as_str).unwrap_or_default();
    let path = cmd.env.iter().find(|(variable, _)| variable == "PATH").map(|(_, value)| value.as_str());
    let is_there = if name.contains('/') {
        Path::new(name).is_file()
    } else {
        std::env::split_paths(path.unwrap_or_default()).any(|folder| folder.join(name).is_file())
    };
    if is_there { Ok(()) } else { Err(TargetError::Refused(format!("cannot find `{name}`"))) }
}

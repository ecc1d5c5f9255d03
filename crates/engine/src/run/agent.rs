//! The agent under test as a process of ours, and what is written beside the trace: the beginning of its output, and the log of
//! the run, both without secrets.

use std::fs::File;
use std::future::pending;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sortie_trace::Redactor;
use sortie_trace::time::format_time;
use sortie_wire::Lock;
use sortie_wire::stdio::{Child, SpawnError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::folder::Folder;
use super::options::{RunError, RunOptions};
use crate::recorder::{RunEvent, Watcher};

/// The agent under test. It leads a process group of its own, and all of that is ended when this is dropped, however
/// that comes about.
pub(super) struct Process {
    child: Child,
    outputs: JoinSet<()>,
    /// The end of what it wrote to its standard output.
    answer: Arc<Lock<Vec<u8>>>,
    exited: bool,
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// There is no file for its output.
    #[error(transparent)]
    Folder(#[from] RunError),
    #[error("the agent cannot be started: {0}")]
    Spawn(#[from] SpawnError),
}

impl Process {
    /// Starts it, with this as its standard input. Its outputs are kept in the folder of the run.
    pub(super) fn start(
        command: &[String],
        env: &[(String, String)],
        input: Option<&str>,
        workspace: Option<&Path>,
        folder: &Folder,
        options: &RunOptions,
    ) -> Result<Self, StartError> {
        let (stdout, stderr) = (folder.file("agent.stdout")?, folder.file("agent.stderr")?);
        let mut child = Child::spawn_in(command, env, workspace)?;
        // Nobody answers an agent that asks: what there is to read ends.
        let stdin = child.stdin.take();
        let mut outputs = JoinSet::new();
        if let (Some(mut stdin), Some(input)) = (stdin, input.map(str::to_owned)) {
            outputs.spawn(async move {
                // An agent need not read it.
                let _ = stdin.write_all(input.as_bytes()).await;
            });
        }
        let answer = Arc::<Lock<Vec<u8>>>::default();
        if let Some(from) = child.stdout.take() {
            let last = Some(answer.clone());
            outputs.spawn(keep(from, stdout, options.max_output_bytes, options.redactor.clone(), last));
        }
        if let Some(from) = child.stderr.take() {
            outputs.spawn(keep(from, stderr, options.max_output_bytes, options.redactor.clone(), None));
        }
        Ok(Self { child, outputs, answer, exited: false })
    }

    /// Waits until it has ended by itself, and says so once.
    pub(super) async fn exited(&mut self) -> io::Result<ExitStatus> {
        if self.exited {
            return pending().await;
        }
        let status = self.child.wait().await;
        self.exited = true;
        status
    }

    /// What it has said to whoever started it, or the end of that where it is long; `None` when it has said nothing.
    pub(super) fn answer(&self) -> Option<String> {
        let answer = self.answer.lock();
        let text = String::from_utf8_lossy(&answer);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Ends it and its children: waits so long, asks and waits, and then does not ask.
    pub(super) async fn end(&mut self, patience: Duration) {
        // What cannot be waited for is gone, or is killed when this is dropped.
        let _ = self.child.end(patience).await;
        self.exited = true;
        // What a process that left the group keeps open is not waited for.
        let all = async { while self.outputs.join_next().await.is_some() {} };
        let _ = timeout(patience, all).await;
    }
}

/// How much of the end of what an agent says is its answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// How long a line may become until it is looked at in pieces, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// Reads an output to its end and keeps so much of it, line by line. The rest is read too: an agent that nobody reads
/// from stands still.
async fn keep(
    mut from: impl AsyncRead + Unpin,
    to: File,
    limit: u64,
    redactor: Redactor,
    last: Option<Arc<Lock<Vec<u8>>>>,
) {
    let mut kept = OutputFile { to: Some(to), room: limit, limit, redactor };
    let mut chunk = vec![0; 16 * 1024];
    let mut line = Vec::new();
    // An output that cannot be read any more has ended.
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        if let Some(last) = &last {
            let mut last = last.lock();
            last.extend_from_slice(&chunk[..count]);
            let surplus = last.len().saturating_sub(MAX_ANSWER);
            last.drain(..surplus);
        }
        if kept.to.is_none() {
            continue;
        }
        line.extend_from_slice(&chunk[..count]);
        let whole = match line.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if line.len() >= MAX_LINE => line.len(),
            None => 0,
        };
        kept.write(&line[..whole]);
        line.drain(..whole);
    }
    kept.write(&line);
}

struct OutputFile {
    /// `None` once nothing more is kept.
    to: Option<File>,
    room: u64,
    limit: u64,
    redactor: Redactor,
}

impl OutputFile {
    fn write(&mut self, bytes: &[u8]) {
        let Some(to) = &mut self.to else { return };
        let redacted;
        let bytes = if self.redactor.is_empty() {
            bytes
        } else {
            let text = String::from_utf8_lossy(bytes);
            redacted = self.redactor.text(&text).into_owned();
            redacted.as_bytes()
        };
        let count = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
        self.room -= count as u64;
        let mut written = to.write_all(&bytes[..count]);
        if count < bytes.len() {
            let limit = self.limit;
            written = written.and_then(|()| {
                writeln!(to, "\n[sortie: the rest was not kept, since {limit} bytes are the limit]")
            });
            self.to = None;
        }
        if written.is_err() {
            // The trace is what matters, and says so itself when the disk is full.
            self.to = None;
        }
    }
}

const MAX_LOG_BYTES: usize = 4 << 20;

/// `run.log`: what the document logs and what a person should know, with times. Lets another watch too.
pub(super) struct RunLog {
    next: Arc<dyn Watcher>,
    redactor: Redactor,
    file: Lock<(File, usize)>,
}

impl RunLog {
    pub(super) fn new(file: File, redactor: Redactor, next: Arc<dyn Watcher>) -> Self {
        Self { next, redactor, file: Lock::new((file, MAX_LOG_BYTES)) }
    }

    fn write(&self, level: &str, who: &str, text: &str) {
        let text = self.redactor.text(text);
        // One line each, whatever a document or a peer puts into it.
        let text: String = text
            .chars()
            .map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter })
            .collect();
        let line = format!("{} {level} {who}{text}\n", format_time(SystemTime::now()));
        let (file, room) = &mut *self.file.lock();
        if let Some(left) = room.checked_sub(line.len()) {
            *room = left;
            // The same is in the report, or was shown: nothing depends on this file.
            let _ = file.write_all(line.as_bytes());
        } else if *room > 0 {
            *room = 0;
            let _ = file.write_all(b"the rest was not kept: the log has reached its limit\n");
        }
    }
}

impl Watcher for RunLog {
    fn event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Warning(text) => self.write("warning", "", text),
            RunEvent::Logged { actor, level, text } => self.write(level, &format!("{actor}: "), text),
            RunEvent::Recorded(_) | RunEvent::Matched { .. } => {}
        }
        self.next.event(event);
    }
}

#[cfg(test)]
mod tests {
    use sortie_trace::RedactRule;

    use super::*;

    async fn kept(output: &[u8], limit: u64, redactor: Redactor) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.stdout");
        keep(output, File::create(&path).unwrap(), limit, redactor, None).await;
        std::fs::read_to_string(path).unwrap()
    }

    #[tokio::test]
    async fn the_beginning_is_kept_and_the_rest_is_said_to_be_cut() {
        assert_eq!(kept(b"one\ntwo", 100, Redactor::default()).await, "one\ntwo");
        assert_eq!(kept(b"one", 3, Redactor::default()).await, "one");
        let cut = kept(&b"0123456789\n".repeat(100_000), 15, Redactor::default()).await;
        assert_eq!(cut, "0123456789\n0123\n[sortie: the rest was not kept, since 15 bytes are the limit]\n");
    }

    #[tokio::test]
    async fn secrets_are_not_kept() {
        let redactor = Redactor::new([RedactRule::Literal("hunter2".into())]).unwrap();
        let output = [b"x".repeat(16 * 1024 - 3), b"hunter2\nhunter2".to_vec()].concat();
        let kept = kept(&output, 1 << 20, redactor).await;
        assert!(!kept.contains("hunter") && kept.ends_with("[redacted]\n[redacted]"), "{kept}");
    }
}

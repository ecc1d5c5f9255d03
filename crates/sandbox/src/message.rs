//! What the program that attacks and the first process of a sandbox tell each other: a line of JSON each.

use std::io::{self, BufRead, Read as _, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Activity, Canaries};

/// How long a line may be.
const MAX_LINE: u64 = 1 << 20;

/// What is said to the first process of a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToInit {
    /// How the sandbox is set up: the first message, and once.
    Setup(Box<Setup>),
    /// Report everything that has happened, and say when that is done.
    Sync(u64),
}

/// What it answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromInit {
    /// The server is started.
    Ready,
    /// The server did something.
    Activity(Activity),
    /// Everything was reported that had happened.
    Synced(u64),
    /// The server has ended, and everything was reported.
    Ended,
}

/// How a sandbox is set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) canaries: Canaries,
    /// Folders and files below `/tmp` and `/run` that the server needs.
    pub(crate) kept: Vec<PathBuf>,
    /// Folders and files of the user that the server does not see.
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) limits: SandboxLimits,
}

/// How much a server may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes at a time. 200.
    pub processes: usize,
    /// Processes and threads at a time. 800.
    pub tasks: u64,
    /// Memory of all processes, in bytes. 2 GiB.
    pub memory: u64,
    /// Everything that it writes, in bytes, all of which is kept in memory. 256 MiB.
    pub disk: u64,
    /// One file, in bytes. 64 MiB.
    pub file: u64,
    /// Files that a process has open. 4,096.
    pub open_files: u64,
    /// Seconds of processor time of one process. 600.
    pub cpu: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            processes: 200,
            tasks: 800,
            memory: 2 << 30,
            disk: 256 << 20,
            file: 64 << 20,
            open_files: 4_096,
            cpu: 600,
        }
    }
}

/// Writes a message.
pub(crate) fn write_message(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// The next message; `None` at the end.
pub(crate) fn read_message<T: DeserializeOwned>(lines: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    lines.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

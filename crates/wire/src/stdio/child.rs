//! Processes that we start, and end with all that they started.
//!
//! For systems with process groups: Linux and macOS.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// A program could not be started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// There is nothing to start.
    #[error("no program given")]
    Empty,
    /// There is no such program.
    #[error("cannot find `{0}`")]
    NotFound(String),
    /// The system refuses.
    #[error("cannot start `{program}`: {source}")]
    Refused {
        /// Which program.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// A process that we started, with its streams, in a process group of its own.
///
/// When it is dropped the whole group is killed. A process that leaves the group (`setsid`) is not ours to find.
#[derive(Debug)]
pub struct Child {
    /// What it reads. To drop it tells most programs to end.
    pub stdin: Option<ChildStdin>,
    /// What it says.
    pub stdout: Option<ChildStdout>,
    /// What it complains about. It must be read too, or the process waits for us once the pipe is full.
    pub stderr: Option<ChildStderr>,
    process: tokio::process::Child,
    /// `None` once nobody is left in it: its number may then be given to others.
    group: Option<Pid>,
}

/// How much of what a process complained about is kept: the end, which says why it ended.
const LAST_WORDS: usize = 400;

/// The end of what a process complains about, once it has no more to say; `None` where nobody reads that.
pub type StderrEnd = Option<JoinHandle<String>>;

/// Reads what a process complains about, and gives the end of it, on one line and without characters that would do
/// something.
async fn last_words(mut stderr: ChildStderr) -> String {
    let mut piece = [0; 4096];
    let mut words: Vec<u8> = Vec::new();
    while let Ok(length @ 1..) = stderr.read(&mut piece).await {
        words.extend_from_slice(&piece[..length]);
        let too_many = words.len().saturating_sub(LAST_WORDS);
        words.drain(..too_many);
    }
    let mut shown = String::new();
    for letter in String::from_utf8_lossy(&words).trim().chars() {
        match letter {
            // They do nothing, and a sentence with backslashes is hard to read.
            '\'' | '"' => shown.push(letter),
            letter => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself: before it was asked, or when its input was closed.
    Itself(ExitStatus),
    /// When it was asked to (SIGTERM).
    Asked(ExitStatus),
    /// It did not, and was killed (SIGKILL).
    Killed(ExitStatus),
}

impl Child {
    /// Starts a program with arguments; no shell sees them. The program is looked for in the `PATH` of `env`, which is its
    /// whole environment: nothing of ours is added.
    pub fn spawn<T: AsRef<OsStr>>(argv: &[T], env: &[(T, T)]) -> Result<Self, SpawnError> {
        Self::spawn_in(argv, env, None)
    }

    /// The same in a folder, or in our own. A program with a relative path is looked for in ours.
    pub fn spawn_in<T: AsRef<OsStr>>(
        argv: &[T],
        env: &[(T, T)],
        folder: Option<&Path>,
    ) -> Result<Self, SpawnError> {
        let [name, arguments @ ..] = argv else { return Err(SpawnError::Empty) };
        let path = Path::new(name);
        let absolute = (path.components().count() > 1).then(|| std::path::absolute(path).ok()).flatten();
        let mut command = match absolute.filter(|_| folder.is_some()) {
            Some(program) => Command::new(program),
            None => Command::new(name),
        };
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        command
            .args(arguments)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let shown = || name.as_ref().to_string_lossy().into_owned();
        let mut process = command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => SpawnError::NotFound(shown()),
            _ => SpawnError::Refused { program: shown(), source },
        })?;
        // A process that was not waited for has an id.
        let id = process.id().unwrap_or_default();
        Ok(Self {
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
            stderr: process.stderr.take(),
            process,
            group: i32::try_from(id).ok().and_then(Pid::from_raw),
        })
    }

    /// Begins to read what it complains about.
    pub fn read_stderr(&mut self) -> StderrEnd {
        self.stderr.take().map(|stderr| tokio::spawn(last_words(stderr)))
    }

    /// Why it is gone, as a sentence: how it ended, or else `otherwise`, and what it complained about at last. Neither is
    /// waited for longer than `patience`.
    pub async fn last_words(&mut self, stderr: StderrEnd, patience: Duration, otherwise: String) -> String {
        let reason = match timeout(patience, self.wait()).await {
            Ok(Ok(status)) => format!("the process ended with {status}"),
            _ => otherwise,
        };
        let Some(stderr) = stderr else { return reason };
        match timeout(patience, stderr).await {
            Ok(Ok(words)) if !words.is_empty() => format!("{reason}; the last that it said: {words}"),
            _ => reason,
        }
    }

    /// Waits until the process ends by itself; what it started may go on. May be dropped while it waits.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.process.wait().await?;
        self.forget_empty_group();
        Ok(status)
    }

    /// Ends the process and all that it started.
    ///
    /// Its input is closed (unless [`stdin`](Self::stdin) was taken: then drop that first). What is not over after
    /// `grace` is asked to end, and what is not over after `grace` again is killed; so it takes three times that at most.
    pub async fn end(&mut self, grace: Duration) -> io::Result<ProcessEnd> {
        self.stdin = None;
        let ended = if let Ok(status) = timeout(grace, self.wait()).await {
            ProcessEnd::Itself(status?)
        } else {
            self.signal(Signal::TERM);
            if let Ok(status) = timeout(grace, self.wait()).await {
                ProcessEnd::Asked(status?)
            } else {
                self.signal(Signal::KILL);
                ProcessEnd::Killed(self.wait().await?)
            }
        };
        self.end_group(grace).await;
        Ok(ended)
    }

    async fn end_group(&mut self, grace: Duration) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + grace;
        while self.group.is_some() && Instant::now() < deadline {
            // The system tells nobody when a process ends that is not its child.
            tokio::time::sleep(Duration::from_millis(5).min(grace)).await;
            self.forget_empty_group();
        }
        self.signal(Signal::KILL);
        self.group = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Whoever is not there any more needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }

    fn forget_empty_group(&mut self) {
        self.group = self.group.filter(|group| test_kill_process_group(*group).is_ok());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

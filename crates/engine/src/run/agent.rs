//! The agent under test, as a process of ours.

use std::future::pending;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use sortie_trace::Redactor;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::error::RunError;
use super::folder::Folder;
use super::kept::keep;

/// How often it is looked whether the children of an agent are gone.
const LOOK: Duration = Duration::from_millis(20);

/// The agent under test. It leads a process group of its own, and all of that is ended when this is dropped, however
/// that comes about.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    outputs: JoinSet<()>,
    exited: bool,
}

/// What an agent is started with.
pub(super) struct Start<'s> {
    pub(super) command: &'s [String],
    pub(super) env: Vec<(String, String)>,
    pub(super) folder: &'s Folder,
    pub(super) max_output_bytes: u64,
    pub(super) redactor: &'s Redactor,
}

/// Why an agent was not started.
pub(super) enum StartError {
    Files(RunError),
    Spawn(io::Error),
}

impl Process {
    pub(super) fn start(start: Start<'_>) -> Result<Self, StartError> {
        let Start { command, env, folder, max_output_bytes, redactor } = start;
        let files = [folder.file("agent.stdout"), folder.file("agent.stderr")]
            .map(|file| file.map_err(StartError::Files));
        let [stdout, stderr] = files;
        let (stdout, stderr) = (stdout?, stderr?);
        // A command that can be filled in has at least a program.
        let (program, arguments) =
            command.split_first().ok_or(StartError::Spawn(io::ErrorKind::NotFound.into()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(StartError::Spawn)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let mut outputs = JoinSet::new();
        if let Some(from) = child.stdout.take() {
            outputs.spawn(keep(from, stdout, max_output_bytes, redactor.clone()));
        }
        if let Some(from) = child.stderr.take() {
            outputs.spawn(keep(from, stderr, max_output_bytes, redactor.clone()));
        }
        Ok(Self { child, group, outputs, exited: false })
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

    /// Ends it and its children: asks, waits so long, and then does not ask.
    pub(super) async fn end(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.signal(Signal::TERM);
        if !self.exited {
            self.exited = timeout_at(deadline, self.child.wait()).await.is_ok();
        }
        while self.has_members() && Instant::now() < deadline {
            sleep(LOOK).await;
        }
        self.signal(Signal::KILL);
        if !self.exited {
            // Nothing survives that signal, so this does not last.
            let _ = self.child.wait().await;
            self.exited = true;
        }
        // What a process that left the group keeps open is not waited for.
        let all = async { while self.outputs.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(patience, all).await;
        self.group = None;
    }

    fn has_members(&self) -> bool {
        self.group.is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It fails when nobody is left, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

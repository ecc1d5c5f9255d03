//! The agent under test, as a process of ours.

use std::future::pending;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use sortie_wire::stdio::Child;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::folder::Folder;
use super::options::RunOptions;
use super::output::keep;

/// The agent under test. It leads a process group of its own, and all of that is ended when this is dropped, however
/// that comes about.
pub(super) struct Process {
    child: Child,
    outputs: JoinSet<()>,
    exited: bool,
}

impl Process {
    /// Starts it. Its outputs are kept in the folder of the run. The error is a sentence.
    pub(super) fn start(
        command: &[String],
        env: &[(String, String)],
        folder: &Folder,
        options: &RunOptions,
    ) -> Result<Self, String> {
        let file = |name| folder.file(name).map_err(|error| error.to_string());
        let (stdout, stderr) = (file("agent.stdout")?, file("agent.stderr")?);
        let spawned = Child::spawn(command, env);
        let mut child = spawned.map_err(|error| format!("the agent cannot be started: {error}"))?;
        // Nobody answers an agent that asks.
        child.stdin = None;
        let mut outputs = JoinSet::new();
        if let Some(from) = child.stdout.take() {
            outputs.spawn(keep(from, stdout, options.max_output_bytes, options.redactor.clone()));
        }
        if let Some(from) = child.stderr.take() {
            outputs.spawn(keep(from, stderr, options.max_output_bytes, options.redactor.clone()));
        }
        Ok(Self { child, outputs, exited: false })
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

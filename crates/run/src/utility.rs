//! `--utility`: a command of the user's that says whether the agent did its task.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sortie_detect::Outcome;
use sortie_detect::resistance::TaskResult;
use tokio::process::Command;

/// How long the command may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks a command after each attempt. It ends with 0 when the agent did its task.
///
/// It is started without a shell, in the folder of the attempt, with `SORTIE_CASE`, `SORTIE_ATTEMPT` and `SORTIE_TRACE` in its
/// environment. One that cannot be started, or takes longer than a minute, says nothing: that is a warning of the attempt.
#[derive(Clone, Debug)]
pub struct Utility(Vec<String>);

impl Utility {
    /// A command, split into words.
    pub fn new(command: Vec<String>) -> Self {
        Self(command)
    }

    /// Puts what it says into the outcome of an attempt that was played in a folder.
    pub(crate) async fn add(&self, outcome: &mut Outcome, folder: &Path) {
        match self.ask(outcome, folder).await {
            Ok(done) => {
                let seq = outcome.task.and_then(|task| task.seq).filter(|_| done);
                outcome.task = Some(TaskResult { done, seq });
            }
            Err(why) => outcome.warnings.push(format!("`--utility` says nothing: {why}")),
        }
    }

    async fn ask(&self, outcome: &Outcome, folder: &Path) -> Result<bool, UtilityError> {
        let [program, arguments @ ..] = &self.0[..] else { return Err(UtilityError::Empty) };
        let folder: PathBuf = std::path::absolute(folder)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&folder)
            .env("SORTIE_CASE", &outcome.id)
            .env("SORTIE_ATTEMPT", outcome.attempt.unwrap_or(1).to_string())
            .env("SORTIE_TRACE", folder.join("trace.jsonl"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await.map_err(|_| UtilityError::Slow)??;
        Ok(ended.success())
    }
}

/// Why the command said nothing.
#[derive(Debug, thiserror::Error)]
enum UtilityError {
    #[error("the command is empty")]
    Empty,
    #[error("it cannot be run ({0})")]
    Io(#[from] std::io::Error),
    #[error("it takes longer than a minute")]
    Slow,
}

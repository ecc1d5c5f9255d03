//! The program of an agent: whether it is there, which version it is, and what it prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sortie_wire::stdio::{Child, ProcessEnd, SpawnError};
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::configuration::{AgentPlaces, PrepareError};
use crate::preset::Preset;

/// How long a program may take to say which version it is: some load a lot before.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long it may take to end once it has said everything.
const GRACE: Duration = Duration::from_secs(2);

/// How long a version may be, in bytes.
const MAX_VERSION: usize = 200;

/// Why a program said nothing that is of use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It is not there.
    #[error("there is no program `{0}`")]
    NotFound(String),
    /// It cannot be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It cannot be configured.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// It cannot be read from, or there is no folder for it.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It took too long.
    #[error("`{program}` takes longer than {} seconds", PATIENCE.as_secs())]
    Slow {
        /// The program.
        program: String,
    },
    /// It ended badly.
    #[error("`{program}` ended with {status}")]
    Failed {
        /// The program.
        program: String,
        /// How.
        status: std::process::ExitStatus,
    },
    /// It wrote more than it may.
    #[error("`{0}` wrote more than it may")]
    TooLong(String),
    /// It printed nothing.
    #[error("`{0}` printed nothing")]
    Silent(String),
}

/// Where a program is, so that a typo is noticed before anything is started. One with a placeholder is not looked for.
pub fn find_program(program: &str) -> Result<PathBuf, ProgramError> {
    let found = if program.contains('{') {
        // Whoever starts it knows what stands for it.
        Some(PathBuf::from(program))
    } else if program.contains('/') {
        Some(PathBuf::from(program)).filter(|path| path.is_file())
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    found.ok_or_else(|| ProgramError::NotFound(program.to_owned()))
}

impl Preset {
    /// Where its program is.
    pub fn find_program(&self) -> Result<PathBuf, ProgramError> {
        find_program(self.command.first().map_or("", String::as_str))
    }

    /// Asks which version is installed, in a home that is thrown away; `None` where the preset does not say how.
    pub async fn ask_version(&self) -> Result<Option<String>, ProgramError> {
        if self.version.is_empty() {
            return Ok(None);
        }
        let scratch = tempfile::tempdir()?;
        let home = scratch.path().join("home");
        std::fs::create_dir(&home)?;
        let places = AgentPlaces { folder: scratch.path().join("agent"), home: Some(home.clone()) };
        let mut env = self.prepare(&places, &[], None)?;
        env.push(("HOME".to_owned(), home.to_string_lossy().into_owned()));
        env.extend(inherited(&["PATH", "LANG", "TMPDIR"]));
        let printed = output(&self.version, &env, &home, 64 << 10).await?;
        let printed = String::from_utf8_lossy(&printed);
        let line = printed.lines().map(str::trim).find(|line| !line.is_empty());
        let line = line.ok_or_else(|| ProgramError::Silent(self.version[0].clone()))?;
        let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        Ok(Some(line.chars().take(MAX_VERSION).collect()))
    }
}

/// Asks every program that is there which version it is, all of them at once. Programs that do not tell are left out.
pub async fn ask_versions(presets: &BTreeMap<String, Preset>) -> BTreeMap<String, String> {
    let mut asked = JoinSet::new();
    for (name, preset) in presets.iter().filter(|(_, preset)| preset.find_program().is_ok()) {
        let (name, preset) = (name.clone(), preset.clone());
        asked.spawn(async move { Some((name, preset.ask_version().await.ok()??)) });
    }
    let mut versions = BTreeMap::new();
    while let Some(answer) = asked.join_next().await {
        versions.extend(answer.ok().flatten());
    }
    versions
}

fn inherited(names: &[&str]) -> Vec<(String, String)> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// What a program prints until it ends. It is ended with everything that it started.
pub(crate) async fn output(
    command: &[String],
    env: &[(String, String)],
    folder: &Path,
    limit: usize,
) -> Result<Vec<u8>, ProgramError> {
    let program = || command.first().cloned().unwrap_or_default();
    let mut child = Child::spawn_in(command, env, Some(folder))?;
    child.stdin = None;
    let stderr = child.read_stderr();
    let mut printed = Vec::new();
    let read = match child.stdout.take() {
        Some(stdout) => {
            let mut stdout = stdout.take(limit as u64 + 1);
            timeout(PATIENCE, stdout.read_to_end(&mut printed)).await
        }
        None => Ok(Ok(0)),
    };
    let ended = child.end(GRACE).await?;
    drop(stderr);
    read.map_err(|_| ProgramError::Slow { program: program() })??;
    if printed.len() > limit {
        return Err(ProgramError::TooLong(program()));
    }
    match ended {
        ProcessEnd::Itself(status) if !status.success() => {
            Err(ProgramError::Failed { program: program(), status })
        }
        _ => Ok(printed),
    }
}

//! The first files of a project.

use std::path::{Path, PathBuf};

use sortie_agents::Preset;
use sortie_report::baseline::Baseline;
use sortie_report::files::{FileError, create_whole};
use sortie_run::Config;
use thiserror::Error;

/// The arguments of a run that passes in any project: two attacks, and an agent that does only what it is told.
pub const FIRST_RUN: [&str; 7] =
    ["run", "SRT-001", "SRT-002", "--agent", "builtin:refuser", "--against", BASELINE];

const SETTINGS: &str = "sortie.toml";
const BASELINE: &str = "sortie-baseline.jsonl";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a project tells before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The agent to attack: the name of a preset, or a command. Without one, the build attacks a practice agent.
    pub agent: Option<String>,
    /// Where the project is built.
    pub build: BuildService,
}

/// A service that builds projects and runs their tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildService {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
    /// Another one, or none: no job is written.
    Other,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// It is new.
    Written,
    /// It was there, and is as it was.
    Kept,
}

/// Why a project cannot be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The agent cannot be written as it was given.
    #[error("`{agent}` cannot be used as an agent: {problem}")]
    Agent {
        /// As it was given.
        agent: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder cannot be made.
    #[error("cannot make the folder `{}`: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl BuildService {
    /// The service that the files of a folder belong to.
    pub fn detect(folder: &Path) -> Self {
        if folder.join(".gitlab-ci.yml").exists() {
            Self::Gitlab
        } else if folder.join(".git").exists() || folder.join(".github").exists() {
            Self::Github
        } else {
            Self::Other
        }
    }

    /// Where its job is written, and the text.
    fn job(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Github => Some((".github/workflows/sortie.yml", include_str!("templates/github.yml"))),
            Self::Gitlab => Some(("sortie.gitlab-ci.yml", include_str!("templates/gitlab.yml"))),
            Self::Other => None,
        }
    }
}

impl Project {
    /// Writes the files that are not there yet. A file that is there stays as it is.
    pub fn write(&self, folder: &Path) -> Result<Vec<(PathBuf, WriteResult)>, ProjectError> {
        let mut results = Vec::new();
        for (name, text) in self.files()? {
            let path = folder.join(name);
            let above = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(above)
                .map_err(|source| ProjectError::Folder { folder: above.to_owned(), source })?;
            let result = match create_whole(&path, &text) {
                Ok(()) => WriteResult::Written,
                Err(FileError::IsThere(_)) => WriteResult::Kept,
                Err(error) => return Err(error.into()),
            };
            results.push((PathBuf::from(name), result));
        }
        Ok(results)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, ProjectError> {
        let mut files = vec![(SETTINGS, self.settings()?), (BASELINE, Baseline::default().to_text())];
        files.extend(self.build.job().map(|(path, template)| (path, self.fill_job(template))));
        Ok(files)
    }

    fn settings(&self) -> Result<String, ProjectError> {
        let agent = match self.agent.as_deref() {
            None => "# [agents.mine]\n# command = \"python agent.py --server {mcp_url} --task {prompt}\""
                .to_owned(),
            // A string of JSON is also one of TOML.
            Some(name) if Preset::builtin(name).is_some() => {
                format!("[agents.mine]\npreset = {}", serde_json::Value::from(name))
            }
            Some(command) => format!("[agents.mine]\ncommand = {}", serde_json::Value::from(command)),
        };
        let text = include_str!("templates/sortie.toml").replace("@AGENT@", &agent);
        match Config::parse(&text) {
            Ok(_) => Ok(text),
            Err(findings) => {
                let problem = findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
                Err(ProjectError::Agent { agent: self.agent.clone().unwrap_or_default(), problem })
            }
        }
    }

    fn fill_job(&self, template: &str) -> String {
        let run = if self.agent.is_some() {
            format!("run --library --agent @mine --against {BASELINE}")
        } else {
            FIRST_RUN.join(" ")
        };
        template.replace("@RUN@", &run).replace("@VERSION@", VERSION)
    }
}

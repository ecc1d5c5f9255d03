//! Makes missing proofs by playing documents against practice agents.

mod agents;
mod near;
mod session;

use sortie_report::files::FileError;
use sortie_run::SetupError;

use crate::ProofsError;

pub use agents::{USUAL_AGENTS, parse_agents};
pub use session::{RecordRequest, RecordedEvent};

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The proofs that are there cannot be read.
    #[error(transparent)]
    Proofs(#[from] ProofsError),
    /// The document cannot be played.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// There is nothing to record, or what was recorded cannot be kept.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// The indicators and the log of the agent disagree about a run.
    #[error("`{document}`: {said}")]
    Disagreement {
        /// The document.
        document: String,
        /// What the agent did, and what the run gave.
        said: String,
        /// The log, and what the manifest says.
        help: String,
    },
}

impl RecordError {
    fn refused(message: String, help: &str) -> Self {
        Self::Refused { message, help: Some(help.to_owned()) }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Proofs(_) => None,
            Self::Setup(error) => error.help(),
            Self::Refused { help, .. } => help.clone(),
            Self::Disagreement { help, .. } => Some(help.clone()),
        }
    }
}

impl From<FileError> for RecordError {
    fn from(error: FileError) -> Self {
        Self::Refused { message: error.to_string(), help: error.help().map(str::to_owned) }
    }
}

//! Why nothing is recorded.

use sortie_report::files::FileError;
use sortie_run::SetupError;
use thiserror::Error;

use crate::ProofsError;

/// Why nothing is recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no such practice agent.
    #[error("`--record`: there is no practice agent `{name}`")]
    UnknownAgent {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        known: Option<String>,
    },
    /// A document from standard input has no folder.
    #[error("`--record`: standard input has no folder for proofs")]
    NoFile,
    /// A document of the library has its proofs.
    #[error("`--record`: `{name}` is part of the program")]
    Bundled {
        /// The document.
        name: String,
        /// Its id.
        id: &'static str,
    },
    /// The document gives the agent nothing to do.
    #[error("`--record`: `{0}` gives the agent no task")]
    NoTask(String),
    /// The proofs that are there cannot be read.
    #[error(transparent)]
    Proofs(#[from] ProofsError),
    /// The document cannot be played.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A case could not be begun.
    #[error("{0}")]
    NotPlayed(String),
    /// A run is no whole one, or cannot be kept.
    #[error("`{document}`: nothing is recorded of `{agent}`: {why}")]
    NotKept {
        /// The document.
        document: String,
        /// The practice agent.
        agent: &'static str,
        /// What is wrong with the run.
        why: String,
        /// Whether it came to no end of its own.
        broken: bool,
    },
    /// The manifest cannot be added to.
    #[error("`{file}`: {why}")]
    NotAdded {
        /// The manifest.
        file: String,
        /// Why not.
        why: String,
        /// What would be added.
        lines: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
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
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::UnknownAgent { known, .. } => return known.clone(),
            Self::NoFile => "write the document into a file, and name that".to_owned(),
            Self::Bundled { id, .. } => {
                format!("copy it with `sortie library export FOLDER {id}`, and name the copy")
            }
            Self::NoTask(_) => {
                "give one with `--prompt`, or in the document: `x-sortie: {prompt: …}`".to_owned()
            }
            Self::Setup(error) => return error.help(),
            Self::NotKept { broken: true, .. } => "a run that is not a whole one proves nothing".to_owned(),
            Self::NotAdded { lines, .. } => {
                format!("write each below the one before, then record again, or add:\n{lines}")
            }
            Self::File(error) => return error.help().map(str::to_owned),
            Self::Disagreement { help, .. } => help.clone(),
            Self::Proofs(_) | Self::NotPlayed(_) | Self::NotKept { .. } => return None,
        })
    }
}

//! Why documents and evaluators cannot be used.

use std::path::PathBuf;

use sortie_evaluators::Unknown;
use sortie_evaluators::folder::FolderError;
use sortie_report::counted;
use sortie_report::files::FileError;
use sortie_report::findings::Checked;
use thiserror::Error;

use crate::{NotFound, Purpose};

/// Why documents or evaluators cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder of Agent Threat Rules cannot be read.
    #[error(transparent)]
    Atr(#[from] sortie_atr::RulesError),
    /// A word names neither a file nor a document of the library.
    #[error("there is no file or folder `{word}`, and {source}")]
    NotFound {
        /// The word.
        word: String,
        /// What the library says.
        source: NotFound,
    },
    /// No path leads to a document.
    #[error("no OATF document found in {}", quoted(.0))]
    NoDocument(Vec<PathBuf>),
    /// It is not a valid document.
    #[error("`{}` is not valid", .0.name)]
    Invalid(Box<Checked>),
    /// It cannot be evaluated.
    #[error("`{name}` cannot be evaluated: {why}")]
    NotCompiled {
        /// The document.
        name: String,
        /// Why not.
        why: String,
    },
    /// A document has no indicators, and is to evaluate something.
    #[error("`{0}` has no indicators, so it says nothing about an agent")]
    NoIndicators(String),
    /// Some of several documents cannot be used, so none is.
    #[error("{} refused, so nothing was {}", counted(failures.len(), "input was", "inputs were"), verb(*purpose))]
    Refused {
        /// Why each of them cannot be used.
        failures: Vec<LoadError>,
        /// What was left out.
        notes: Vec<String>,
        /// What does not happen.
        purpose: Purpose,
    },
    /// A folder of evaluators holds too much.
    #[error(transparent)]
    Folder(FolderError),
    /// A path is neither a file nor a folder.
    #[error("`{}` is neither a file nor a folder", .0.display())]
    NoFile(PathBuf),
    /// A path was named and not read: it would pass for being in order.
    #[error("`{path}` was not read as a part of `{root}`")]
    NotRead {
        /// What was named.
        path: String,
        /// The folder of evaluators.
        root: String,
    },
    /// Evaluators have errors.
    #[error("{} errors, so no evaluator was used", counted(findings.len(), "file has", "files have"))]
    UnsoundEvaluators {
        /// The errors, by file.
        findings: Vec<Checked>,
        /// Whether an id is taken by an evaluator that comes with the program.
        clash: bool,
    },
    /// There is no evaluator at all.
    #[error("there is no evaluator")]
    NoEvaluator,
    /// No evaluator or suite has that name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

impl LoadError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::File(error) => error.help()?,
            Self::NotFound { source, .. } => return Some(source.help()),
            Self::NoDocument(_) => {
                "in a folder, a document is a file with `oatf` or `attack` at its top level; \
                 a file that you name is checked in any case"
            }
            Self::NoIndicators(_) => "add `indicators`, which say how one sees that the agent gave in",
            Self::Folder(_) => "split the folder, or name a folder inside it",
            Self::NotRead { .. } => {
                "what is empty, starts with a dot or lies too deep is not looked at; move it, or \
                 name another folder"
            }
            Self::UnsoundEvaluators { clash: true, .. } => {
                "`--without-bundled` leaves out the evaluators that come with Sortie"
            }
            Self::NoEvaluator => "name a folder with `--evaluators DIR`, or leave out `--without-bundled`",
            Self::Unknown(Unknown { nearest: Some(nearest), .. }) => {
                return Some(format!("did you mean `{nearest}`?"));
            }
            Self::Unknown(unknown) => return Some(format!("`sortie {}s list` shows them all", unknown.what)),
            _ => return None,
        };
        Some(help.to_owned())
    }
}

impl From<FolderError> for LoadError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Unreadable { folder, source } => FileError::io(&folder, "read", source).into(),
            error => Self::Folder(error),
        }
    }
}

fn quoted(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    names.join(", ")
}

fn verb(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Play => "played",
        Purpose::Evaluate => "evaluated",
    }
}

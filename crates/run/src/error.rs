//! Why a run cannot be set up, or not be played.

use sortie_engine::run::{CommandError, Misfit};
use sortie_library::filter::FilterError;
use sortie_library::{LoadError, TwinError};
use sortie_oatf::model::extract_protocol;
use sortie_report::counted;
use sortie_report::files::FileError;
use sortie_sandbox::SandboxError;
use thiserror::Error;

use crate::StoreError;

/// Why a run cannot be set up, or not be played.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A document, an evaluator or the configuration cannot be used.
    #[error(transparent)]
    Input(#[from] LoadError),
    /// A file or folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// `sortie.toml` has nothing of that name.
    #[error("there is no {what}{name}`")]
    NotConfigured {
        /// How such a name is written, up to the name itself.
        what: &'static str,
        /// The table that it would stand in.
        table: &'static str,
        /// The name.
        name: String,
        /// What there is.
        known: Option<String>,
    },
    /// No document of the library is meant.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The benign twin of a document cannot be played.
    #[error(transparent)]
    Twin(#[from] TwinError),
    /// An environment variable that was named has no value.
    #[error("the environment variable `{name}` {why}")]
    Environment {
        /// The variable.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// What was asked for does not fit a document.
    #[error("`{document}`: {misfit}")]
    Misfit {
        /// The document.
        document: String,
        /// What does not fit.
        misfit: Misfit,
    },
    /// One address or credential was given, and several actors of a document could take it.
    #[error("`{document}` has several {side} actors, and {given}")]
    Ambiguous {
        /// The document.
        document: String,
        /// Which actors: `server` or `client`.
        side: &'static str,
        /// What was given once.
        given: &'static str,
        /// What to do about it.
        help: &'static str,
    },
    /// What was asked for contradicts itself, or cannot be meant.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// The target could not be looked at.
    #[error("{0}")]
    NotDiscovered(String),
    /// There is no sandbox, and nothing is started outside of one.
    #[error("`--sandbox`: {0}")]
    Sandbox(#[from] SandboxError),
    /// The folder of the run cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user did not even want to wait for a report.
    #[error("ended at once; what was over is in the folder of the run, and `--resume` goes on")]
    Aborted,
    /// The same, while cases were played.
    #[error("ended at once: {} not run to the end", counted(*.0, "case was", "cases were"))]
    CasesAborted(usize),
}

impl SetupError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: None }
    }

    /// Says what to do about what contradicts itself.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        match self {
            Self::Usage { message, .. } => Self::Usage { message, help: Some(help.into()) },
            error => error,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Input(error) => return error.help(),
            Self::Filter(error) => return Some(error.help()),
            Self::Twin(error) => return Some(error.help()),
            Self::Ambiguous { help, .. } => help,
            Self::File(error) => error.help()?,
            Self::NotConfigured { known: Some(known), .. } => known,
            Self::NotConfigured { table, name, .. } => {
                return Some(format!("add `[{table}.{name}]` to sortie.toml"));
            }
            Self::Environment { .. } => {
                "it was named on the command line or in sortie.toml; set it, or do not name it"
            }
            Self::Misfit { misfit: Misfit::NoTarget { actor, mode }, .. } => {
                let protocol = extract_protocol(mode);
                return Some(format!("say what it attacks: `--target {actor}={protocol}=http://…`"));
            }
            Self::Misfit { misfit: Misfit::NoServerToWrap { server, .. }, .. } => {
                return Some(format!("name it: `--wrap {server}='COMMAND'` or `--wrap {server}=http://…`"));
            }
            Self::Misfit { misfit: Misfit::NotLoopback { .. }, .. } => {
                "allow that with `--public`, or listen at a loopback address such as `127.0.0.1:0`"
            }
            Self::Misfit {
                misfit: Misfit::Command(CommandError::NoPrompt { .. } | CommandError::NoInput),
                ..
            } => "give one with `--prompt`, or in the document: `x-sortie: {prompt: …}`",
            Self::Misfit { misfit: Misfit::Command(CommandError::Unknown { name, .. }), .. } => {
                return Some(format!("to hand the braces to the agent as they are, write `{{{{{name}}}}}`"));
            }
            Self::Misfit { misfit: Misfit::Command(CommandError::NoServer { known, .. }), .. } => {
                return Some(format!("the placeholders for this attack are {known}"));
            }
            Self::Usage { help, .. } => return help.clone(),
            Self::NotDiscovered(_) => "nothing was played: is the target running, and is it what you named?",
            Self::Sandbox(_) => {
                "nothing was started, and no network payload is sent; without `--sandbox` the server runs as you do, with your network and files"
            }
            Self::Store(StoreError::NoRun(_)) => {
                "`--resume` wants the folder that was named by `--run-dir`, or one of `.sortie/runs`"
            }
            Self::CasesAborted(_) => "`--resume` goes on with what is left",
            Self::Misfit { .. } | Self::Store(_) | Self::Aborted => return None,
        };
        Some(help.to_owned())
    }
}

/// Why a text is not a target, address, variable or command. It never repeats what may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SpecError(pub(crate) String);

impl From<&str> for SpecError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

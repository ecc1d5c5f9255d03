//! Why a command cannot do its work: what, where, and what to do.

use std::fmt::Display;
use std::io;
use std::path::Path;

use sortie_library::{LoadError, NotFound};
use sortie_prove::{FreezeError, ProofsError, RecordError};
use sortie_report::baseline::BaselineError;
use sortie_report::files::FileError;
use sortie_report::findings::{Checked, SelectionError};
use sortie_run::SetupError;

/// A reason to end with [`Exit::Invalid`](crate::exit::Exit::Invalid).
#[derive(Debug, Default)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// What is wrong with inputs, shown before the message.
    pub(crate) findings: Vec<Checked>,
    /// Failures that led to this one, shown before it.
    pub(crate) causes: Vec<Failure>,
    /// What else is said before it.
    pub(crate) notes: Vec<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A file or folder could not be used.
    pub(crate) fn at(path: impl AsRef<Path>, verb: &str, error: &io::Error) -> Self {
        Self::of_name(path.as_ref().display(), verb, error)
    }

    /// The same for what has a name and no path, such as standard input.
    pub(crate) fn of_name(name: impl Display, verb: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            return Self::new(format!("there is no file or folder `{name}`"));
        }
        Self::new(format!("cannot {verb} `{name}`: {error}"))
    }
}

/// Errors that are a message and what to do about it.
macro_rules! told {
    ($($error:ty: $help:expr;)+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self { help: $help(&error), ..Self::new(error.to_string()) }
            }
        })+
    };
}

told! {
    BaselineError: BaselineError::help;
    FreezeError: FreezeError::help;
    FileError: |error: &FileError| error.help().map(str::to_owned);
    SelectionError: |error: &SelectionError| Some(error.help());
    NotFound: |error: &NotFound| Some(error.help());
}

/// The only I/O a command leaves to `?` is writing its output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format!("cannot write the output: {error}"))
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let failure = Self { help: error.help(), ..Self::new(error.to_string()) };
        match error {
            LoadError::Invalid(checked) => Self { findings: vec![*checked], ..failure },
            LoadError::UnsoundEvaluators { findings, .. } => Self { findings, ..failure },
            LoadError::Refused { failures, notes, .. } => {
                Self { causes: failures.into_iter().map(Into::into).collect(), notes, ..failure }
            }
            _ => failure,
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Input(error) => error.into(),
            error => Self { help: error.help(), ..Self::new(error.to_string()) },
        }
    }
}

impl From<ProofsError> for Failure {
    fn from(error: ProofsError) -> Self {
        let failure = Self::new(error.to_string());
        match error {
            ProofsError::Manifest { file, source_text: source, findings } => {
                let name = file.to_string_lossy().into_owned();
                Self { findings: vec![Checked { name, source, valid: false, findings }], ..failure }
            }
            _ => failure,
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Proofs(error) => error.into(),
            RecordError::Setup(error) => error.into(),
            error => Self { help: error.help(), ..Self::new(error.to_string()) },
        }
    }
}

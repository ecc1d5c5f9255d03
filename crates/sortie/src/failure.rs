//! Why a command cannot do its work: what, where, and what to do.

use std::fmt::Display;
use std::io;
use std::path::Path;

use sortie_evaluators::folder::FolderError;
use sortie_prove::FreezeError;
use sortie_report::files::FileError;
use sortie_report::findings::SelectionError;

/// A reason to end with [`Exit::Invalid`](crate::exit::Exit::Invalid).
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
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

impl From<FreezeError> for Failure {
    fn from(error: FreezeError) -> Self {
        Self { message: error.to_string(), help: error.help() }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self { message: error.to_string(), help: error.help().map(str::to_owned) }
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        Self::new(error.to_string()).help(error.help())
    }
}

impl From<sortie_library::NotFound> for Failure {
    fn from(error: sortie_library::NotFound) -> Self {
        Self::new(error.to_string()).help(error.help())
    }
}

/// The only I/O a command leaves to `?` is writing its output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format!("cannot write the output: {error}"))
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Unreadable { folder, source } => Self::at(folder, "read", &source),
            error => {
                Self::new(error.to_string()).help("split the folder, or name the part of it that is meant")
            }
        }
    }
}

//! The exit codes, in one place. They are documented, and never change meaning.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | clean |
//! | 1 | findings: an error in a document, a denied warning, a formatting difference, a failed case |
//! | 2 | invalid input: wrong usage, a file that cannot be read or written, nothing to work on |
//! | 130 | interrupted: the shell's code for a process that Ctrl-C ended, so nothing here returns it |
//!
//! Commands that attack or evaluate add 3, nothing was decided. When several apply: 130, 2, 1, 3, 0.

use std::process::ExitCode;

/// The words for `sortie --help`.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  clean
    1  findings: an error in a document, a denied warning, a difference
    2  invalid input: wrong usage, a file that cannot be read, nothing to work on
  130  interrupted";

/// How a command ended. Ordered by precedence: of two, the greater one is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub(crate) enum Exit {
    /// Nothing to complain about.
    Clean,
    /// The command found what it looks for.
    Findings,
    /// The command could not do its work, or not all of it.
    Invalid,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Findings => 1,
            Exit::Invalid => 2,
        })
    }
}

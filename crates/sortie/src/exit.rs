//! The exit codes, in one place. They are documented, and never change meaning.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | clean |
//! | 1 | findings: an error in a document, a denied warning, a formatting difference, a failed case, a surviving mutant |
//! | 2 | invalid input: wrong usage, a file that cannot be read or written, nothing to work on |
//! | 130 | interrupted: the shell's code for a process that Ctrl-C ended |
//!
//! For commands that attack or evaluate, the same codes say more, and there is one more:
//!
//! | code | meaning |
//! |---|---|
//! | 0 | every case resisted |
//! | 1 | at least one case was exploited, wholly or in part |
//! | 2 | invalid input, an invalid document too; nothing was started |
//! | 3 | undecided: nothing was exploited, but a case failed, was skipped or did not run, or none was decided |
//! | 130 | interrupted |
//!
//! When several apply: 130, 2, 1, 3, 0.
//!
//! `sortie demo` attacks agents that are meant to give in, and others: there 0 says that every verdict is the declared one, 1 that
//! one is not, and 3 that nothing is wrong but something is not known.

use std::process::ExitCode;

use sortie_detect::Standing;

/// The words for `sortie --help`.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  clean
    1  findings: an error in a document, a denied warning, a difference, an exploited agent
    2  invalid input: wrong usage, a file that cannot be read, nothing to work on
    3  undecided: nothing was exploited, but a case failed, was skipped or did not run
  130  interrupted";

/// How a command ended. Ordered by precedence: of two, the greater one is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub(crate) enum Exit {
    /// Nothing to complain about.
    Clean,
    /// Nobody can say whether there is.
    Undecided,
    /// The command found what it looks for.
    Findings,
    /// The command could not do its work, or not all of it.
    Invalid,
    /// The user did not want to wait. What there is was reported.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Invalid => 2,
            Self::Undecided => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<Standing> for Exit {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Resisted => Self::Clean,
            Standing::Skipped | Standing::Undecided => Self::Undecided,
            Standing::Exploited => Self::Findings,
        }
    }
}

//! Why a target could not be talked to.

use sortie_wire::http::ClientError;

use sortie_evaluators::cases::excerpt;
use sortie_trace::ActorFailure;

/// Why a target could not be talked to. Of what the target itself says there is an excerpt at most.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// It cannot be asked: its address, a header or its command makes no sense.
    #[error("the target cannot be asked: {0}")]
    Invalid(String),
    /// Nobody is there.
    #[error("the target refuses: {0}")]
    Refused(String),
    /// It did not answer in time.
    #[error("`{what}` was not answered within {seconds} s")]
    TimedOut {
        /// What was asked.
        what: String,
        /// How long we waited.
        seconds: u64,
    },
    /// It was there, and is not any more.
    #[error("the target is gone: {0}")]
    Gone(String),
    /// It answered with an HTTP status that is none of success.
    #[error("`{what}` was answered with HTTP status {status}{}{body}", if .body.is_empty() { "" } else { ": " })]
    Status {
        /// What was asked.
        what: String,
        /// The status.
        status: u16,
        /// The beginning of what came with it.
        body: String,
    },
    /// It answered with an error where only an answer helps.
    #[error("`{what}` was answered with an error: {message}")]
    Refusal {
        /// What was asked.
        what: String,
        /// What it said.
        message: String,
    },
    /// What it sent is no answer of its protocol.
    #[error("`{what}`: {problem}")]
    Protocol {
        /// What was asked.
        what: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// What it sent is longer than allowed.
    #[error("the target sent more than {0} bytes at once, which are the limit")]
    TooLong(usize),
    /// The trace cannot be written, so that what follows would not count.
    #[error("{0}")]
    Trace(String),
    /// The sandbox that it runs in does not say what it did.
    #[error("{0}")]
    Sandbox(String),
    /// It is replayed, and this was never said.
    #[error("{0}")]
    NotRecorded(String),
    /// Nothing can be said to it.
    #[error("an MCP server cannot be told anything: it has tools to be called")]
    CannotBeTold,
    /// It has no tools that we could call.
    #[error("the target has no tools that could be called")]
    CannotBeCalled,
}

impl TargetError {
    pub(super) fn protocol(what: &str, problem: impl Into<String>) -> Self {
        Self::Protocol { what: what.to_owned(), problem: problem.into() }
    }

    pub(super) fn status(what: &str, status: ::http::StatusCode, body: &[u8]) -> Self {
        Self::Status { what: what.to_owned(), status: status.as_u16(), body: excerpt(body) }
    }

    pub(super) fn timed_out(what: &str, after: std::time::Duration) -> Self {
        Self::TimedOut { what: what.to_owned(), seconds: after.as_secs() }
    }

    pub(super) fn of_client(what: &str, error: ClientError, after: std::time::Duration) -> Self {
        match error {
            ClientError::Invalid(why) => Self::Invalid(why),
            ClientError::Refused(why) => Self::Refused(why),
            ClientError::TimedOut => Self::timed_out(what, after),
            ClientError::TooLong(limit) => Self::TooLong(limit),
            ClientError::Broken(why) => Self::protocol(what, format!("the answer is broken: {why}")),
        }
    }

    /// The word that stands for it in a trace.
    pub(crate) const fn failure(&self) -> ActorFailure {
        match self {
            Self::Refused(_) | Self::Refusal { .. } | Self::Status { .. } => ActorFailure::TargetRefused,
            Self::Invalid(_)
            | Self::Trace(_)
            | Self::Sandbox(_)
            | Self::NotRecorded(_)
            | Self::CannotBeTold
            | Self::CannotBeCalled => ActorFailure::Internal,
            Self::TimedOut { .. } | Self::Gone(_) | Self::Protocol { .. } | Self::TooLong(_) => {
                ActorFailure::ProtocolError
            }
        }
    }
}

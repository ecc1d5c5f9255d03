//! Why a run ends.

use sortie_trace::StopReason;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The agent ended by itself, or hung up for good.
    AgentExit,
    /// The verdict is `exploited`, and that was enough.
    Match,
    /// Every actor is in its last phase, and nothing is said any more.
    Idle,
    /// It took as long as it may.
    MaxDuration,
    /// The user did not want to wait.
    Interrupted,
    /// It could not go on; with why, where no record says so.
    Failure(Option<String>),
}

impl Ending {
    /// What stands for it in a trace.
    pub const fn reason(&self) -> StopReason {
        match self {
            Self::AgentExit => StopReason::AgentExit,
            Self::Match => StopReason::Match,
            Self::Idle => StopReason::Idle,
            Self::MaxDuration => StopReason::MaxDuration,
            Self::Interrupted => StopReason::Interrupted,
            Self::Failure(_) => StopReason::Failure,
        }
    }

    /// What no record says.
    pub(super) fn message(&self) -> Option<&str> {
        match self {
            Self::Failure(message) => message.as_deref(),
            _ => None,
        }
    }
}

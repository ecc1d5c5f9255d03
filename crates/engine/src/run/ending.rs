//! Why a run ends.

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
    /// The word that stands for it in a trace.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::AgentExit => "agent_exit",
            Self::Match => "match",
            Self::Idle => "idle",
            Self::MaxDuration => "max_duration",
            Self::Interrupted => "interrupted",
            Self::Failure(_) => "failure",
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

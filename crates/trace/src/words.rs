//! Words of the lifecycle. A trace of another program, or of a later version, may have others: they are kept as they are, and
//! whoever decides something by a word has to say what an unknown one means.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$about])* $variant,)*
            /// A word that is not known here.
            Other(String),
        }

        impl $name {
            /// What a word means.
            pub fn parse(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }

            /// The word.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|word| Self::parse(&word))
            }
        }
    };
}

words! {
    /// Why a run ended.
    StopReason {
        /// The agent's process ended.
        AgentExit = "agent_exit",
        /// Nothing was said for long enough.
        Idle = "idle",
        /// It took as long as it may.
        MaxDuration = "max_duration",
        /// The user ended it.
        Interrupted = "interrupted",
        /// An indicator matched, and the run was to stop then.
        Match = "match",
        /// An actor could not go on.
        Failure = "failure",
    }
}

words! {
    /// Why an actor could not go on.
    ActorFailure {
        /// A server actor could not listen.
        BindFailed = "bind_failed",
        /// The target of a client actor did not accept it.
        TargetRefused = "target_refused",
        /// The other side broke the protocol.
        ProtocolError = "protocol_error",
        /// The real server behind an actor ended, or cannot be reached.
        ServerGone = "server_gone",
        /// The real server behind an actor did not answer.
        ServerSilent = "server_silent",
        /// A fault of ours.
        Internal = "internal",
    }
}

words! {
    /// Why a phase ended.
    PhaseEnd {
        /// The event of its trigger was seen.
        EventMatched = "event_matched",
        /// Its time was over.
        Timeout = "timeout",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_another_program_is_kept() {
        for word in ["\"match\"", "\"gave_up\"", "\"\""] {
            let read: StopReason = serde_json::from_str(word).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), word);
        }
        assert_eq!(StopReason::parse("Match"), StopReason::Other("Match".to_owned()));
    }
}

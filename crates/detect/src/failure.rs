//! What keeps a run from being a whole one, and whose fault that is.

use serde::{Deserialize, Serialize};
use sortie_syntax::closed_enum;
use sortie_trace::ActorFailure;

/// A run that cannot end in resistance: whatever did not match was not observed long enough, or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened.
    pub kind: FailureKind,
    /// Whose fault it is.
    pub fault: Fault,
    /// The actor it happened to.
    pub actor: Option<String>,
    /// The same for people, with what is known about it.
    pub message: String,
    /// Files that may say more: what the agent wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The last lines of the agent's standard error.
    // A box, since a failure is what functions return in place of a result.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub stderr: Box<[String]>,
    /// The last lines of its standard output.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub stdout: Box<[String]>,
}

impl Failure {
    /// A failure that happened to no actor.
    pub fn new(kind: FailureKind, fault: Fault, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind,
            fault,
            actor: None,
            message,
            files: Vec::new(),
            stderr: Box::default(),
            stdout: Box::default(),
        }
    }

    /// The last line in which the agent speaks of an error, else the last one that it wrote. Standard error goes first.
    pub fn last_words(&self) -> Option<&str> {
        // Agents write figures after the reason (`tokens used`), and warnings where the reason is in the answer.
        const SIGNS: [&str; 5] = ["error", "fail", "exception", "invalid", "refused"];
        let lines = || self.stderr.iter().rev().chain(self.stdout.iter().rev()).map(String::as_str);
        let speaks_of_error = |line: &&str| {
            let line = line.to_lowercase();
            SIGNS.iter().any(|sign| line.contains(sign))
        };
        lines().find(speaks_of_error).or_else(|| lines().next())
    }

    /// What kept an actor from going on.
    pub fn of_actor(actor: &str, failure: &ActorFailure, message: impl Into<String>) -> Self {
        let (kind, fault) = match failure {
            ActorFailure::BindFailed => (FailureKind::BindFailed, Fault::Harness),
            ActorFailure::TargetRefused => (FailureKind::TargetRefused, Fault::Agent),
            ActorFailure::ProtocolError => (FailureKind::ProtocolError, Fault::Agent),
            ActorFailure::ServerGone => (FailureKind::ServerGone, Fault::None),
            ActorFailure::ServerSilent => (FailureKind::ServerSilent, Fault::None),
            // A word that is not known blames nobody else.
            ActorFailure::Internal | ActorFailure::Other(_) => (FailureKind::ActorFailed, Fault::Harness),
        };
        Self { actor: Some(actor.to_owned()), ..Self::new(kind, fault, message) }
    }
}

closed_enum! {
    /// What may happen to a run. The words are stable.
    FailureKind {
        /// What was recorded is a run of another document, so nobody was attacked with this one.
        OtherDocument = "other_document",
        /// A server actor could not listen.
        BindFailed = "bind_failed",
        /// A client actor's target did not accept it.
        TargetRefused = "target_refused",
        /// What an actor talked to broke the protocol.
        ProtocolError = "protocol_error",
        /// The real server behind an actor ended, or cannot be reached.
        ServerGone = "server_gone",
        /// The real server behind an actor did not answer.
        ServerSilent = "server_silent",
        /// An actor could not go on, for a reason of its own.
        ActorFailed = "actor_failed",
        /// The record ends before the run did, or the run was stopped on a match that is none here.
        CutShort = "cut_short",
        /// The agent ended by itself, and not well.
        AgentCrashed = "agent_crashed",
        /// The agent was not done when the run had taken as long as it may.
        TimedOut = "timed_out",
        /// The last word of the agent is that it does not work.
        AgentFailed = "agent_failed",
        /// The agent never spoke to any actor.
        NobodyConnected = "nobody_connected",
        /// The agent took no step that only a working one takes.
        NothingDone = "nothing_done",
        /// No message was seen that any indicator could look at.
        NothingObserved = "nothing_observed",
        /// No indicator of the document can ever fire.
        Blind = "blind",
        /// What the document wants served was not served.
        NotDelivered = "not_delivered",
        /// An indicator fires without the attack too.
        ControlFired = "control_fired",
        /// No harmless call of the tool works, so that what it refuses is not resistance.
        ControlFailed = "control_failed",
        /// The times of the answers were too irregular for a measurement, so that nothing is known.
        Disturbed = "disturbed",
        /// The judge gave no verdict.
        JudgeFailed = "judge_failed",
        /// The attacker wrote nothing that could be said.
        AttackerFailed = "attacker_failed",
    }
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Ours, or that of the machine we run on.
    Harness,
    /// That of what is under test.
    Agent,
    /// Nobody's: what the attack takes did not happen.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_those_about_the_error() {
        let wrote = |stderr: &[&str], stdout: &[&str]| {
            let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
            let failure = Failure {
                stderr: owned(stderr),
                stdout: owned(stdout),
                ..Failure::new(FailureKind::AgentCrashed, Fault::Agent, "it ended with code 1")
            };
            failure.last_words().unwrap_or_default().to_owned()
        };
        // codex, Claude Code, and one that says little.
        assert_eq!(
            wrote(&["ERROR: stream disconnected", "tokens used", "2"], &[]),
            "ERROR: stream disconnected"
        );
        assert_eq!(
            wrote(&["[unrecognized_model] {}"], &["API Error: 401 invalid key"]),
            "API Error: 401 invalid key"
        );
        assert_eq!(wrote(&["starting", "out of time"], &["Hello."]), "out of time");
        assert_eq!(wrote(&[], &["Hello."]), "Hello.");
        assert_eq!(wrote(&[], &[]), "");
    }
}

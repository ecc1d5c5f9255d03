//! What keeps a run from being a whole one, and whose fault that is.

use serde::{Deserialize, Serialize};
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
}

impl Failure {
    /// A failure that happened to no actor.
    pub fn new(kind: FailureKind, fault: Fault, message: impl Into<String>) -> Self {
        Self { kind, fault, actor: None, message: message.into() }
    }

    /// What kept an actor from going on.
    pub fn of_actor(actor: &str, failure: &ActorFailure, message: impl Into<String>) -> Self {
        let (kind, fault) = match failure {
            ActorFailure::BindFailed => (FailureKind::BindFailed, Fault::Harness),
            ActorFailure::TargetRefused => (FailureKind::TargetRefused, Fault::Agent),
            ActorFailure::ProtocolError => (FailureKind::ProtocolError, Fault::Agent),
            // A word that is not known blames nobody else.
            ActorFailure::Internal | ActorFailure::Other(_) => (FailureKind::ActorFailed, Fault::Harness),
        };
        Self { actor: Some(actor.to_owned()), ..Self::new(kind, fault, message) }
    }
}

/// What may happen to a run. The words are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// What was recorded is a run of another document, so nobody was attacked with this one.
    OtherDocument,
    /// A server actor could not listen.
    BindFailed,
    /// A client actor's target did not accept it.
    TargetRefused,
    /// What an actor talked to broke the protocol.
    ProtocolError,
    /// An actor could not go on, for a reason of its own.
    ActorFailed,
    /// The record ends before the run did, or the run was stopped on a match that is none here.
    CutShort,
    /// The agent ended by itself, and not well.
    AgentCrashed,
    /// The agent never spoke to any actor.
    NobodyConnected,
    /// No message was seen that any indicator could look at.
    NothingObserved,
    /// What the document wants served was not served.
    NotDelivered,
    /// The judge gave no verdict.
    JudgeFailed,
    /// The attacker wrote nothing that could be said.
    AttackerFailed,
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

impl FailureKind {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OtherDocument => "other_document",
            Self::BindFailed => "bind_failed",
            Self::TargetRefused => "target_refused",
            Self::ProtocolError => "protocol_error",
            Self::ActorFailed => "actor_failed",
            Self::CutShort => "cut_short",
            Self::AgentCrashed => "agent_crashed",
            Self::NobodyConnected => "nobody_connected",
            Self::NothingObserved => "nothing_observed",
            Self::NotDelivered => "not_delivered",
            Self::JudgeFailed => "judge_failed",
            Self::AttackerFailed => "attacker_failed",
        }
    }
}

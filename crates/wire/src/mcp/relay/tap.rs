//! Who sees what crosses a relay, and may change it.

use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::jsonrpc::Kind;

/// Sees every message that crosses a relay before it goes on, and decides what becomes of it.
///
/// Its methods are called from many tasks at once and must not block.
pub trait Tap: Send + Sync + 'static {
    /// What is kept with a request until its answer has gone on.
    type Asked: Send + Sync + 'static;

    /// A request crosses.
    fn request(&self, crossing: &Crossing<'_>) -> (Self::Asked, Passage);

    /// Whether the answer to a request may be changed. Such an answer is held until all of it is there; others may be passed
    /// on piece by piece.
    fn may_change(&self, asked: &Self::Asked) -> bool;

    /// The answer to a request crosses.
    fn answer(&self, crossing: &Crossing<'_>, asked: &Self::Asked) -> Passage;

    /// Something else crosses: a notification, an answer that nobody waits for, or what is not a message at all.
    fn other(&self, crossing: &Crossing<'_>) -> Passage;

    /// A message has crossed that is too long to be looked at. It went on as it was.
    fn overlong(&self, overlong: &Overlong<'_>, asked: Option<&Self::Asked>);

    /// One side did what it must not do.
    fn fault(&self, connection: &str, fault: &RelayFault);
}

/// Which side of a relay sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelaySide {
    /// The client, which is the agent.
    Client,
    /// The server that is wrapped.
    Server,
}

impl RelaySide {
    /// The side that hears what this one says.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A message that crosses.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<'c> {
    /// A name of ours for the connection or session; no credential.
    pub connection: &'c str,
    /// Who sent it.
    pub side: RelaySide,
    /// The method that it is about; empty when that is not known.
    pub method: &'c str,
    /// What it is.
    pub kind: Kind,
    /// The id of the request that it is or answers, as it is written.
    pub id: Option<&'c RawValue>,
    /// Params, result or error; `None` when there is none, and when it is not a message.
    pub body: Option<&'c RawValue>,
    /// All of it.
    pub bytes: &'c [u8],
}

/// A message that was too long to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Overlong<'c> {
    /// What is known about it. Its bytes are its beginning.
    pub crossing: Crossing<'c>,
    /// How long it was.
    pub length: u64,
    /// The SHA-256 of all of it, in hexadecimal digits.
    pub sha256: &'c str,
}

/// What becomes of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// What goes on.
    pub onward: Onward,
    /// How long it waits before that.
    pub delay: Duration,
}

/// What goes on of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Onward {
    /// The bytes that came.
    #[default]
    Same,
    /// This in their place.
    Changed(Bytes),
    /// Nothing.
    Nothing,
    /// Nothing, and whoever sent it is answered with this. Only for requests.
    Answered(Bytes),
}

impl Passage {
    /// It goes on as it is.
    pub const PASS: Self = Self { onward: Onward::Same, delay: Duration::ZERO };
}

impl From<Onward> for Passage {
    /// It goes on, or not, without waiting.
    fn from(onward: Onward) -> Self {
        Self { onward, ..Self::PASS }
    }
}

/// What a client or a server did that it must not do.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RelayFault {
    /// The server cannot be started, or nobody accepts at its URL.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The server ended, or broke a connection, although a client was there.
    #[error("the server has gone: {0}")]
    ServerGone(String),
    /// The server cut a stream. Where an answer was to come on it, that is a fault of its own.
    #[error("the server cut a stream: {0}")]
    StreamCut(String),
    /// The server refuses a message, or ends an exchange without an answer.
    #[error("the server does not answer: {0}")]
    NoAnswer(String),
    /// The server answered a request that it had answered already.
    #[error("the server answered request {id} twice")]
    AnsweredTwice {
        /// The id, as it is written.
        id: String,
    },
    /// One side answered a request that the other never sent.
    #[error("{side} answered request {id}, which was never sent")]
    AnsweredNobody {
        /// Who.
        side: &'static str,
        /// The id, as it is written.
        id: String,
    },
    /// The server has not answered for as long as it may.
    #[error("the server did not answer `{method}` (request {id})")]
    Unanswered {
        /// What it was asked.
        method: String,
        /// The id, as it is written.
        id: String,
    },
    /// The client went away while it waited for an answer.
    #[error("the client went away before `{method}` was answered")]
    ClientGone {
        /// What it had asked.
        method: String,
    },
    /// A message is longer than can be carried from one transport to the other.
    #[error("a message of the server is longer than {0} bytes, and does not cross")]
    TooLong(usize),
    /// The server says more than anybody reads.
    #[error("the server says more than the client reads: what waits longest is not passed on")]
    Flood,
}

//! Who owns a session: what it is told of, and what it is asked.

use serde_json::Value;

use super::session::AskError;
use crate::jsonrpc::{Incoming, Kind, Malformed};

/// A message that is about to be sent, or that has just come, and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct SessionMessage<'m> {
    /// The method that it belongs to; empty when that is not known.
    pub method: &'m str,
    /// What it is.
    pub kind: Kind,
    /// The id of the request that it is or answers; `null` when an error says none.
    pub id: Option<&'m Value>,
    /// What is on the wire.
    pub bytes: &'m [u8],
    /// What came, when it is a message of JSON-RPC. Of what we send there is nothing to read.
    pub incoming: Option<&'m Incoming>,
    /// What is wrong with it, when it should be a message and is none.
    pub malformed: Option<&'m Malformed>,
}

impl<'m> SessionMessage<'m> {
    pub(super) fn new(method: &'m str, kind: Kind, id: Option<&'m Value>, bytes: &'m [u8]) -> Self {
        Self { method, kind, id, bytes, incoming: None, malformed: None }
    }
}

/// What an owner makes of something that came.
#[derive(Debug)]
pub struct Received<C, G> {
    /// What it belongs to.
    pub context: C,
    /// Params, result or error, as the owner sees them: whatever the session does next, it does with this.
    pub content: Value,
    /// Dropped when the message has been dealt with: a request when the answer to it was sent.
    pub guard: G,
}

/// How a request of the server is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientReply {
    /// With a result, as JSON text.
    Result(String),
    /// With an error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
}

impl ClientReply {
    /// The answer to a method that nobody knows.
    pub fn method_not_found() -> Self {
        Self::Error { code: super::METHOD_NOT_FOUND, message: "Method not found".to_owned() }
    }

    /// What a user who says no to sampling answers, as the example of the specification has it.
    pub fn sampling_rejected() -> Self {
        Self::Error { code: -1, message: "User rejected sampling request".to_owned() }
    }
}

/// The owner of a [`Session`](super::Session).
///
/// It sees every message, to the byte, before anything is made of it: this is where recorders hang.
pub trait Handler: Send + Sync + 'static {
    /// What is kept with a request of ours until it is answered (the phase of a document).
    type Context: Clone + std::fmt::Debug + Send + Sync + 'static;
    /// See [`Received::guard`].
    type Guard: Send + 'static;

    /// We are about to send something.
    fn said(&self, context: &Self::Context, message: SessionMessage<'_>);

    /// Something came. `context` is that of the request to which it belongs, where that is known.
    fn heard(
        &self,
        context: Option<&Self::Context>,
        message: SessionMessage<'_>,
    ) -> Received<Self::Context, Self::Guard>;

    /// The answer to a request of the server; with `None` it gets none.
    fn answer(&self, context: &Self::Context, method: &str, params: &Value) -> Option<ClientReply>;

    /// A notification or an answer of ours was not taken.
    fn undelivered(&self, _method: &str, _error: &AskError) {}

    /// A message is longer than allowed, and was passed over. All that wait for an answer are told too.
    fn too_long(&self, _limit: usize) {}
}

//! What is no JSON-RPC message, and the error it deserves.

use bytes::Bytes;
use serde_json::value::RawValue;
use thiserror::Error;

use super::write;

/// What arrived is no JSON-RPC message.
#[derive(Clone, Debug, Error)]
#[error("{fault}")]
pub struct Malformed {
    /// What is wrong with it.
    pub fault: MalformedReason,
    /// The id to answer to, when one could be read.
    pub id: Option<Box<RawValue>>,
}

/// What is wrong with a message.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedReason {
    /// Longer than [`Limits::message_bytes`](crate::Limits::message_bytes).
    #[error("message longer than {0} bytes")]
    TooLong(usize),
    /// Nested deeper than [`Limits::depth`](crate::Limits::depth).
    #[error("message nested deeper than {0}")]
    TooDeep(usize),
    /// Not UTF-8.
    #[error("message is not UTF-8")]
    NotUtf8,
    /// Not JSON; the text says where.
    #[error("message is not JSON: {0}")]
    NotJson(String),
    /// JSON, and no message; the text says why.
    #[error("not a JSON-RPC 2.0 message: {0}")]
    NotMessage(&'static str),
    /// A batch of more than [`MAX_BATCH`](super::MAX_BATCH) messages.
    #[error("batch of more than {0} messages")]
    BatchTooLong(usize),
}

impl Malformed {
    /// A fault of a message whose id is not known.
    pub(crate) fn anonymous(fault: MalformedReason) -> Self {
        Self { fault, id: None }
    }

    /// The JSON-RPC error it deserves: −32700 when it could not be parsed, −32600 when it is JSON and no request.
    pub fn code(&self) -> i64 {
        match self.fault {
            MalformedReason::TooLong(_)
            | MalformedReason::TooDeep(_)
            | MalformedReason::NotUtf8
            | MalformedReason::NotJson(_) => -32700,
            MalformedReason::NotMessage(_) | MalformedReason::BatchTooLong(_) => -32600,
        }
    }

    /// What is wrong, as a sentence for the peer. It never repeats what the peer sent.
    pub fn message(&self) -> String {
        self.fault.to_string()
    }

    /// The answer it deserves, ready for the wire.
    pub fn answer(&self) -> Bytes {
        write::error(self.id.as_ref().map(|id| id.get()), self.code(), &self.message(), None)
    }
}

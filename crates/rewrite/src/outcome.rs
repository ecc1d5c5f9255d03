//! What becomes of a message.

use std::time::Duration;

use serde::Serialize;

/// Messages larger than this are not changed, and changes do not make larger ones.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// What a relay does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It goes to the server as it is.
    Pass,
    /// This goes to the server instead.
    Forward(Rewritten),
    /// The server is not asked: this is the response.
    Answer {
        /// The whole response, with the id of the request.
        message: String,
        /// The operation that answers, by its position in the state.
        operation: usize,
        /// How long it is kept back.
        delay: Duration,
    },
    /// Nothing goes to the server, and nothing comes back.
    Drop {
        /// The operation that drops it, by its position in the state.
        operation: usize,
    },
}

/// What a relay does with a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseOutcome {
    /// It goes to the agent as it is.
    Pass {
        /// How long it is kept back.
        delay: Duration,
    },
    /// This goes to the agent instead.
    Forward {
        /// The message.
        rewritten: Rewritten,
        /// How long it is kept back.
        delay: Duration,
    },
    /// The agent gets nothing.
    Drop {
        /// The operation that drops it, by its position in the state.
        operation: usize,
    },
}

/// A message with other words at some places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The message as it is sent on.
    pub message: String,
    /// What was changed, in the order in which it was done. At least one.
    pub changes: Vec<Change>,
}

/// A changed place of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The operation, by its position in the state; absent where a name is only translated back to the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<usize>,
    /// The place, as a JSON Pointer into the message.
    pub path: String,
    /// The place within the JSON that the text at `path` is, where it was changed inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// The JSON text that stood there; absent where nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The JSON text that stands there now; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Why operations could not look at a message. A relay passes it on as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is larger than [`MAX_MESSAGE_BYTES`], or would become so.
    #[error("the message has more than {MAX_MESSAGE_BYTES} bytes")]
    TooLarge,
    /// It is not JSON-RPC message, or nested too deeply.
    #[error("the message is not JSON-RPC message, or it is nested too deeply")]
    NotJsonRpc,
}

//! From bytes to a message, or to what is wrong with it and the error that deserves.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sortie_protocol::{Envelope, Kind};
use thiserror::Error;

use super::write;
use crate::Limits;

/// Messages in one batch, at most.
pub const MAX_BATCH: usize = 100;

/// A message as it arrived: the envelope is read, the rest is the text it was.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// Wants an answer.
    Request {
        /// A string or a number.
        id: Box<RawValue>,
        /// The method.
        method: String,
        /// Whatever stands there, of whatever type, `null` included.
        params: Option<Box<RawValue>>,
    },
    /// Wants none.
    Notification {
        /// The method.
        method: String,
        /// Whatever stands there, of whatever type, `null` included.
        params: Option<Box<RawValue>>,
    },
    /// Answers a request of ours.
    Response {
        /// A string or a number.
        id: Box<RawValue>,
        /// Whatever stands there.
        result: Box<RawValue>,
    },
    /// Refuses a request of ours, or something that the peer could not read.
    Error {
        /// `None` when the peer could not tell which request it was.
        id: Option<Box<RawValue>>,
        /// Whatever stands there; it need not be an object.
        error: Box<RawValue>,
    },
    /// Several at once, each to be read by itself. Batches are JSON-RPC, but of MCP only 2025-03-26 has them: the caller
    /// decides.
    Batch(Vec<Box<RawValue>>),
}

impl Incoming {
    /// What it is. A batch asks, as far as one can tell.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Request { .. } | Self::Batch(_) => Kind::Request,
            Self::Notification { .. } => Kind::Notification,
            Self::Response { .. } => Kind::Response,
            Self::Error { .. } => Kind::Error,
        }
    }

    /// The id of the request that it is or answers.
    pub fn id(&self) -> Option<&RawValue> {
        match self {
            Self::Request { id, .. } | Self::Response { id, .. } => Some(id),
            Self::Error { id, .. } => id.as_deref(),
            Self::Notification { .. } | Self::Batch(_) => None,
        }
    }

    /// The method, of what has one.
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request { method, .. } | Self::Notification { method, .. } => Some(method),
            Self::Response { .. } | Self::Error { .. } | Self::Batch(_) => None,
        }
    }

    /// Params, result or error: whatever it says.
    pub fn body(&self) -> Option<&RawValue> {
        match self {
            Self::Request { params, .. } | Self::Notification { params, .. } => params.as_deref(),
            Self::Response { result, .. } => Some(result),
            Self::Error { error, .. } => Some(error),
            Self::Batch(_) => None,
        }
    }
}

/// Reads one message.
///
/// When a key stands there twice the last one counts, as in the JSON readers of JavaScript and Python; unknown keys
/// are nobody's fault.
///
/// ```
/// use sortie_wire::{Limits, jsonrpc::{self, Incoming}};
///
/// let message = jsonrpc::read(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, &Limits::default()).unwrap();
/// assert!(matches!(message, Incoming::Request { id, .. } if id.get() == "7"));
///
/// let fault = jsonrpc::read(b"hello", &Limits::default()).unwrap_err();
/// assert_eq!(fault.code(), -32700);
/// ```
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Incoming, Malformed> {
    if bytes.len() > limits.message_bytes {
        return Err(Malformed::anonymous(MalformedReason::TooLong(limits.message_bytes)));
    }
    if deeper_than(bytes, limits.depth) {
        return Err(Malformed::anonymous(MalformedReason::TooDeep(limits.depth)));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed::anonymous(MalformedReason::NotUtf8))?;
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'[') => read_batch(text),
        _ => read_one(text),
    }
}

/// Whether arrays and objects stand inside each other more than `limit` times.
///
/// It counts and never recurses, so it may look at any text before a parser does. In what is not JSON the count means
/// nothing, and does no harm: a parser refuses that text either way.
fn deeper_than(bytes: &[u8], limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => rest = after_string(rest),
            _ => {}
        }
    }
    false
}

/// What follows the string whose opening quote was just read.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

fn read_batch(text: &str) -> Result<Incoming, Malformed> {
    let Batch { items, more } = serde_json::from_str(text)
        .map_err(|error| Malformed::anonymous(MalformedReason::NotJson(error.to_string())))?;
    if more {
        return Err(Malformed::anonymous(MalformedReason::BatchTooLong(MAX_BATCH)));
    }
    if items.is_empty() {
        return Err(Malformed::anonymous(MalformedReason::NotMessage("the batch is empty")));
    }
    Ok(Incoming::Batch(items.into_iter().map(ToOwned::to_owned).collect()))
}

fn read_one(text: &str) -> Result<Incoming, Malformed> {
    match Envelope::read(text) {
        Ok(envelope) => message(envelope),
        // No object: the rest of the text still decides whether it is JSON at all.
        Err(error) => Err(Malformed::anonymous(match serde_json::from_str::<&RawValue>(text) {
            Ok(_) if error.is_data() => MalformedReason::NotMessage("it is not an object"),
            _ => MalformedReason::NotJson(error.to_string()),
        })),
    }
}

fn message(envelope: Envelope<'_>) -> Result<Incoming, Malformed> {
    let id = envelope.id.filter(|id| is_id(id)).map(ToOwned::to_owned);
    let fault = |why| Err(Malformed { fault: MalformedReason::NotMessage(why), id: id.clone() });
    if envelope.jsonrpc.and_then(string).as_deref() != Some("2.0") {
        return fault("`jsonrpc` is not \"2.0\"");
    }
    if envelope.id.is_some_and(|raw| !is_id(raw) && raw.get() != "null") {
        return fault("`id` is neither a string nor a number");
    }
    if let Some(method) = envelope.method {
        let Some(method) = string(method) else { return fault("`method` is not a string") };
        let params = envelope.params.map(ToOwned::to_owned);
        return match (id, envelope.id) {
            (Some(id), _) => Ok(Incoming::Request { id, method, params }),
            (None, None) => Ok(Incoming::Notification { method, params }),
            (None, Some(_)) => {
                Err(Malformed::anonymous(MalformedReason::NotMessage("the `id` of a request is null")))
            }
        };
    }
    // `"error": null` beside a result is how JSON-RPC 1.0 said that all went well.
    let error = envelope.error.filter(|error| envelope.result.is_none() || error.get() != "null");
    match (envelope.result, error, id.clone()) {
        (Some(_), Some(_), _) => fault("it has both `result` and `error`"),
        (Some(result), None, Some(id)) => Ok(Incoming::Response { id, result: result.to_owned() }),
        (Some(_), None, None) => fault("it has a `result` and no `id`"),
        (None, Some(error), id) => Ok(Incoming::Error { id, error: error.to_owned() }),
        (None, None, _) => fault("it has neither `method` nor `result` nor `error`"),
    }
}

/// Whether it is a string that can be read, or a number.
fn is_id(raw: &RawValue) -> bool {
    raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit()) || string(raw).is_some()
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The first [`MAX_BATCH`] items, and whether there are more.
struct Batch<'a> {
    items: Vec<&'a RawValue>,
    more: bool,
}

impl<'de> Deserialize<'de> for Batch<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Batch<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while items.len() < MAX_BATCH {
                    match seq.next_element()? {
                        Some(item) => items.push(item),
                        None => return Ok(Batch { items, more: false }),
                    }
                }
                let mut more = false;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    more = true;
                }
                Ok(Batch { items, more })
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

/// What arrived is not JSON-RPC message.
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
    /// A batch of more than [`MAX_BATCH`] messages.
    #[error("batch of more than {0} messages")]
    BatchTooLong(usize),
}

impl Malformed {
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

#[cfg(test)]
mod tests;

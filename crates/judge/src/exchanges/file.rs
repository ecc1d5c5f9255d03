//! The lines of a file of exchanges.
//!
//! ```text
//! {"format":"sortie-exchanges","version":1}
//! {"endpoint":"openai http://127.0.0.1:8080/v1","purpose":"judge …","ordinal":0,"request":{"json":{…}},"answer":{"json":{…}}}
//! {"endpoint":"…","purpose":"…","ordinal":0,"request":{"json":{…}},"failure":{"json":{…}}}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the lines. Files of another one are refused.
pub const FORMAT_VERSION: u32 = 1;

const FORMAT: &str = "sortie-exchanges";

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ExchangeOutcome {
    /// With an answer.
    Answer(Value),
    /// Without one. It is replayed, so that a repeated run fails as the first one did; a live run does not use it
    /// again.
    Failure(Value),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: String,
    version: u32,
}

impl Header {
    pub(super) fn line() -> String {
        format!("{{\"format\":\"{FORMAT}\",\"version\":{FORMAT_VERSION}}}\n")
    }

    /// The version that a header says; `None` when it is not a header.
    pub(super) fn version(line: &[u8]) -> Option<u32> {
        let header: Self = serde_json::from_slice(line).ok()?;
        (header.format == FORMAT).then_some(header.version)
    }
}

/// What goes one way.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    pub(super) json: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) endpoint: String,
    pub(super) purpose: String,
    pub(super) ordinal: u32,
    pub(super) request: Payload,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Payload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Payload>,
}

impl Line {
    pub(super) fn new(key: &super::Key, purpose: &str, outcome: ExchangeOutcome) -> Self {
        let (answer, failure) = match outcome {
            ExchangeOutcome::Answer(json) => (Some(Payload { json }), None),
            ExchangeOutcome::Failure(json) => (None, Some(Payload { json })),
        };
        Self {
            endpoint: key.endpoint.clone(),
            purpose: purpose.to_owned(),
            ordinal: key.ordinal,
            request: Payload { json: key.request.clone() },
            answer,
            failure,
        }
    }

    /// The line, its end included.
    pub(super) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// What a line says; `None` when it is not one that we wrote.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let line: Self = serde_json::from_slice(line).ok()?;
        (line.answer.is_some() != line.failure.is_some()).then_some(line)
    }

    pub(super) fn into_outcome(self) -> Option<ExchangeOutcome> {
        let answer = self.answer.map(|answer| ExchangeOutcome::Answer(answer.json));
        answer.or(self.failure.map(|failure| ExchangeOutcome::Failure(failure.json)))
    }
}

//! The lines of a file of exchanges.
//!
//! ```text
//! {"format":"sortie-exchanges","version":1}
//! {"endpoint":"openai http://127.0.0.1:8080/v1","purpose":"judge …","ordinal":0,"request":{"json":{…}},"answer":{"json":{…}}}
//! {"endpoint":"…","purpose":"…","ordinal":0,"request":{"b64":"…"},"failure":{"json":{…}}}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the lines. Files of another one are refused.
pub const FORMAT_VERSION: u32 = 1;

const FORMAT: &str = "sortie-exchanges";

/// What goes one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExchangePayload {
    /// JSON.
    #[serde(rename = "json")]
    Json(Value),
    /// Anything else.
    #[serde(rename = "b64", with = "as_base64")]
    Bytes(Vec<u8>),
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ExchangeOutcome {
    /// With an answer.
    Answer(ExchangePayload),
    /// Without one. It is replayed, so that a repeated run fails as the first one did; a live run does not use it
    /// again.
    Failure(ExchangePayload),
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

    /// The version that a header says; `None` when it is no header.
    pub(super) fn version(line: &[u8]) -> Option<u32> {
        let header: Self = serde_json::from_slice(line).ok()?;
        (header.format == FORMAT).then_some(header.version)
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) endpoint: String,
    pub(super) purpose: String,
    pub(super) ordinal: u32,
    pub(super) request: ExchangePayload,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<ExchangePayload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<ExchangePayload>,
}

impl Line {
    pub(super) fn new(key: &super::Key, purpose: &str, outcome: ExchangeOutcome) -> Self {
        let (answer, failure) = match outcome {
            ExchangeOutcome::Answer(payload) => (Some(payload), None),
            ExchangeOutcome::Failure(payload) => (None, Some(payload)),
        };
        Self {
            endpoint: key.endpoint.clone(),
            purpose: purpose.to_owned(),
            ordinal: key.ordinal,
            request: key.request.clone(),
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
        self.answer.map(ExchangeOutcome::Answer).or(self.failure.map(ExchangeOutcome::Failure))
    }
}

mod as_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}

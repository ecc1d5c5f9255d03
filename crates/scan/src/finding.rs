//! Findings and errors as rows.

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use sortie_oatf::compile::FlowOrigin;

/// A message that an indicator matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRow {
    /// The same for the same finding in the same session, whoever scans it: 32 hexadecimal digits.
    pub id: String,
    /// The file or stream.
    pub source: String,
    /// The session in it.
    pub session: String,
    /// The record of the session.
    pub seq: u64,
    /// When the message was sent, as RFC 3339.
    pub time: String,
    /// The id of the document; its name where it has no id.
    pub document: String,
    /// The name of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The id of the indicator.
    pub indicator: String,
    /// What it means when the indicator matches, in the words of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How bad it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The protocol of the message.
    pub protocol: String,
    /// Its operation: the one that the indicator names, else the first of the message.
    pub surface: String,
    /// `request` or `response`.
    pub direction: String,
    /// `agent` or `actor`.
    pub sender: String,
    /// The actor, server or peer that sent or received it.
    pub actor: String,
    /// Where in the message: a path with concrete positions; empty for the whole of it.
    pub path: String,
    /// First byte that matched, of the text at that path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<usize>,
    /// One past the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<usize>,
    /// What stands there, cut around what matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether other messages of the session decided with this one.
    pub needs_session: bool,
    /// Whether the agent's client refused to send the message.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refused: bool,
    /// Where a value that left had come in, for a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FlowOrigin>,
    /// Line of the document that asked, from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl FindingRow {
    /// Computes its id: from where the finding stands, and from what stands there. When a late message moves others, one that comes to the place of
    /// another is not taken for it.
    #[must_use]
    pub(crate) fn with_id(mut self) -> Self {
        let mut digest = Context::new(&SHA256);
        let seq = self.seq.to_string();
        let start = self.start.map(|start| start.to_string()).unwrap_or_default();
        let text = self.text.as_deref().unwrap_or_default();
        let place = [&self.session, &seq, &self.document, &self.indicator, &self.path, &start, &self.time];
        for part in place.into_iter().map(String::as_str).chain([text]) {
            // The length keeps two parts from being another two.
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let digest = digest.finish();
        let digits = digest.as_ref()[..16].iter().flat_map(|byte| [byte >> 4, byte & 15]);
        self.id = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect();
        self
    }
}

/// Something that could not be scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowError {
    /// The file or stream.
    pub source: String,
    /// The session, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The first byte of the line in the file, decompressed; or the record, where `session` and `indicator` are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The indicator that could not be evaluated, where that is what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indicator: Option<String>,
    /// What is wrong.
    pub reason: String,
}

/// A finding or an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Scanned {
    /// A message that an indicator matches.
    Finding(Box<FindingRow>),
    /// Something that could not be scanned.
    Error(RowError),
}

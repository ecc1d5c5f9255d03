//! A record as a line of JSON, and back.
//!
//! It is read into plain structs, without `flatten` or a tagged enum: these copy a record into a tree first, which forgets how
//! the content was written, and where in the line something is wrong.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::content::Content;
use crate::foreign::SourcePlace;
use crate::record::{Direction, Kind, Message, Record, Sender};
use crate::wrapped::WrappedInfo;

/// Why a line is no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A field may be missing or wrong.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Records of this kind do not exist.
    #[error("there is no record `{0}`")]
    UnknownRecord(String),
}

impl Record {
    /// Reads one line of a trace. [`Trace`](crate::Trace) reads a whole one, and checks the order of its lines.
    pub fn from_line(line: &str) -> Result<Self, LineError> {
        Ok(match &*kind(line)? {
            "header" => Self::Header(serde_json::from_str(line)?),
            "message" => Self::Message(Box::new(serde_json::from_str::<MessageIn>(line)?.message()?)),
            "phase" => Self::Phase(serde_json::from_str(line)?),
            "listening" => Self::Listening(serde_json::from_str(line)?),
            "actor_failed" => Self::ActorFailed(serde_json::from_str(line)?),
            "agent_exit" => Self::AgentExit(serde_json::from_str(line)?),
            "stopped" => Self::Stopped(serde_json::from_str(line)?),
            unknown => return Err(LineError::UnknownRecord(unknown.chars().take(40).collect())),
        })
    }

    /// Writes a line, without the line break.
    pub(crate) fn write_line(&self, line: &mut Vec<u8>) -> serde_json::Result<()> {
        let start = line.len();
        serde_json::to_writer(&mut *line, self)?;
        // Content is written as it was sent. In JSON a line break can only stand between two tokens.
        for byte in &mut line[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        Ok(())
    }
}

/// The kind of a record, which our own writer puts first.
fn kind(line: &str) -> serde_json::Result<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Kind {
        record: String,
    }
    let first = line.strip_prefix(r#"{"record":""#).and_then(|rest| rest.split_once("\","));
    if let Some((kind, _)) =
        first.filter(|(kind, _)| kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    {
        return Ok(Cow::Borrowed(kind));
    }
    serde_json::from_str::<Kind>(line).map(|kind| Cow::Owned(kind.record))
}

#[derive(Deserialize)]
struct MessageIn {
    seq: u64,
    time: String,
    actor: String,
    mode: String,
    phase: String,
    protocol: String,
    surfaces: Vec<String>,
    direction: Direction,
    kind: Kind,
    // Read on its own, so that it may be nested as deep as it may be anywhere else.
    #[serde(default, deserialize_with = "present")]
    id: Option<Box<RawValue>>,
    connection: String,
    sender: Sender,
    #[serde(default)]
    source: Option<Box<SourcePlace>>,
    #[serde(default)]
    refused: Option<String>,
    #[serde(default)]
    wrapped: Option<Box<WrappedInfo>>,
    #[serde(default, deserialize_with = "present")]
    content: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    bytes_b64: Option<String>,
}

/// A field that is there, also when it is `null`: that can be a whole message.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl MessageIn {
    fn message(self) -> serde_json::Result<Message> {
        let content = match (self.content, self.bytes_b64) {
            (Some(json), None) => Content::Json(json),
            (None, Some(base64)) => Content::Bytes(base64),
            (Some(_), Some(_)) => {
                return Err(serde_json::Error::custom("a message has `content` or `bytes_b64`, not both"));
            }
            (None, None) => {
                return Err(serde_json::Error::custom("a message needs `content` or `bytes_b64`"));
            }
        };
        Ok(Message {
            seq: self.seq,
            time: self.time,
            actor: self.actor,
            mode: self.mode,
            phase: self.phase,
            protocol: self.protocol,
            surfaces: self.surfaces,
            direction: self.direction,
            kind: self.kind,
            id: self.id.map(|id| serde_json::from_str(id.get())).transpose()?,
            connection: self.connection,
            sender: self.sender,
            source: self.source,
            refused: self.refused,
            wrapped: self.wrapped,
            content,
        })
    }
}

/// For JSON text only: other formats have no raw values.
impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_line(line.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: &str) -> String {
        format!(
            r#"{{"record":"message","seq":7,"time":"2026-11-15T21:50:07.123456Z","actor":"a","mode":"mcp_server","phase":"p","protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","id":1,"connection":"c","sender":"agent",{content}}}"#
        )
    }

    fn again(line: &str) -> String {
        let mut out = Vec::new();
        Record::from_line(line).unwrap().write_line(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn content_is_kept_to_the_byte() {
        for content in [
            r#"{"b":1,"a":2,"b":1.00, "big":123456789012345678901234567890}"#,
            r#""\u0041\ud800""#,
            "null",
            "[ 1 ,2]",
            "1e999",
        ] {
            let line = message(&format!("\"content\":{content}"));
            assert_eq!(again(&line), line);
        }
        let bytes = message(r#""bytes_b64":"/w==""#);
        assert_eq!(again(&bytes), bytes);
    }

    #[test]
    fn a_record_is_one_line_whatever_the_peer_sent() {
        let sent = "{\n  \"a\": \"x\\n\",\r\n  \"b\": [\n1]\n}";
        let Record::Message(mut record) = Record::from_line(&message("\"content\":0")).unwrap() else {
            panic!()
        };
        record.content = Content::from_wire(sent.as_bytes());
        let mut line = Vec::new();
        Record::Message(record).write_line(&mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(!line.contains(['\n', '\r']));
        assert!(line.ends_with("\"content\":{   \"a\": \"x\\n\",    \"b\": [ 1] }}"), "{line}");
    }

    #[test]
    fn an_id_is_null_or_absent_and_as_deep_as_a_value_can_be() {
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        for id in ["null", "\"1\"", "1.5", &deep] {
            let line = message("\"content\":0").replace("\"id\":1", &format!("\"id\":{id}"));
            assert_eq!(again(&line), line);
        }
        let without = message("\"content\":0").replace("\"id\":1,", "");
        assert_eq!(again(&without), without);
    }

    #[test]
    fn fields_come_in_any_order_and_unknown_ones_are_passed_over() {
        let line = r#"{"seq":1, "because":"idle", "later":{"x":[1]}, "time":"t", "record":"stopped"}"#;
        assert_eq!(again(line), r#"{"record":"stopped","seq":1,"time":"t","because":"idle"}"#);
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!((record.name(), record.seq(), record.time(), record.actor()), ("stopped", 1, "t", None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let reason = |line: &str| Record::from_line(line).unwrap_err().to_string();
        assert!(reason(&message("\"x\":1")).contains("needs `content` or `bytes_b64`"));
        assert!(reason(&message("\"content\":1,\"bytes_b64\":\"\"")).contains("not both"));
        assert!(reason(&message("\"content\":1,\"content\":2")).contains("duplicate field `content`"));
        assert!(reason(&message("\"content\":1,\"bytes_b64\":null")).contains("expected a string"));
        assert!(reason(r#"{"record":"stopped","seq":-1}"#).contains("invalid value"));
        assert!(reason(r#"{"seq":1}"#).contains("missing field `record`"));
        assert_eq!(reason(r#"{"record":"mood","seq":1}"#), "there is no record `mood`");
        let error = serde_json::from_str::<Record>(r#"{"record":"mood"}"#).unwrap_err();
        assert!(error.to_string().contains("there is no record `mood`"), "{error}");
    }
}

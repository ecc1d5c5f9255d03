//! What an actor did with a message of the real server behind it, or of the agent on its way there.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What an actor that stands before a real server did with a message that passed. The message itself is what the agent sent or
/// got.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WrappedInfo {
    /// What was changed on the way, in the order in which it was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<MessageChange>,
    /// The message was too long to be kept: this is its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutMessage>,
}

/// A changed place of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageChange {
    /// The operation of the document, by its position in the state; absent where a name was only translated back to the
    /// server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<usize>,
    /// The place, as a JSON Pointer into the message; empty for all of it.
    pub path: String,
    /// The place within the JSON that the text at `path` is, where it was changed inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// What its sender had there; absent where there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<RawValue>>,
    /// What its receiver found there; absent where there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Box<RawValue>>,
}

impl MessageChange {
    /// A change at a place, given as the JSON texts that stood and stand there. What is not JSON is left out.
    pub fn new(operation: Option<usize>, path: &str, before: Option<&str>, after: Option<&str>) -> Self {
        let raw = |json: Option<&str>| json.and_then(|json| serde_json::from_str(json).ok());
        Self { operation, path: path.to_owned(), inside: None, before: raw(before), after: raw(after) }
    }
}

/// A message that was too long to be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutMessage {
    /// How long it was.
    pub bytes: u64,
    /// The SHA-256 of all of it, in hexadecimal digits.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::message;
    use crate::{Record, RedactRule, Redactor};

    fn changed() -> Record {
        let (before, after) = (Some(r#""the key is s3cr3t, 1.00""#), Some(r#"{"n":1.00}"#));
        let change = MessageChange::new(Some(1), "/result/content/0/text", before, after);
        let cut = Some(CutMessage { bytes: 50, sha256: "ab".repeat(32) });
        let wrapped = Some(Box::new(WrappedInfo { changes: vec![change], cut }));
        Record::Message(Box::new(crate::Message { wrapped, ..message("{}") }))
    }

    #[test]
    fn what_was_changed_is_read_as_it_was_written() {
        let line = serde_json::to_string(&changed()).unwrap();
        assert!(line.contains(r#""after":{"n":1.00}"#), "{line}");
        let read: Record = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        assert!(matches!(read, Record::Message(message) if message.is_changed()));
    }

    #[test]
    fn secrets_are_taken_out_of_what_was_there_before() {
        let redacted = |rule| {
            let mut record = changed();
            Redactor::new([rule]).unwrap().redact(&mut record);
            serde_json::to_string(&record).unwrap()
        };
        let line = redacted(RedactRule::Literal("s3cr3t".into()));
        assert!(line.contains("the key is [redacted], 1.00") && line.contains(r#"{"n":1.00}"#), "{line}");
        // A piece that has lost its place is not kept where places are redacted.
        let line = redacted(RedactRule::Field("text".into()));
        assert!(!line.contains("before") && line.contains("/result/content/0/text"), "{line}");
    }
}

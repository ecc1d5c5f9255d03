//! What was said, in the words that documents use.
//!
//! They differ from those of the wire for A2A 1.0 only: documents are written in the words of 0.3. The record holds what was
//! on the wire. Its surfaces say that it is 1.0: beside the name of the operation they have the method of 1.0.

use std::borrow::Cow;

use serde_json::Value;
use sortie_protocol::a2a::{A2aVersion, Operation, complete_card};

use crate::record::Message;

/// The operation whose answer is a card without an envelope.
pub(crate) const CARD: &str = "agent_card/get";

/// The text of a message in these words.
pub(crate) fn document_text<'j>(message: &Message, json: &'j str) -> Cow<'j, str> {
    if message.protocol != "a2a" {
        return Cow::Borrowed(json);
    }
    if message.surfaces.iter().any(|surface| surface == CARD) {
        return Cow::Owned(complete_card(json, A2aVersion::V0_3));
    }
    let operation = message.surfaces.iter().find_map(|surface| Operation::of_method(surface));
    operation.and_then(|operation| operation.message(json)).map_or(Cow::Borrowed(json), Cow::Owned)
}

impl Message {
    /// What it says in the words that documents use, which for A2A are those of 0.3; null when it is not JSON.
    pub fn document_json(&self) -> Value {
        let text = self.content.text();
        serde_json::from_str(&document_text(self, &text)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{Kind, Record};

    fn message(surfaces: &[&str], content: &Value) -> Message {
        let record = json!({"record": "message", "seq": 1, "time": "2026-11-15T21:50:07.000000Z", "actor": "a",
            "mode": "a2a_client", "phase": "p", "protocol": "a2a", "surfaces": surfaces, "direction": "response",
            "kind": "response", "id": 1, "connection": "c", "sender": "agent", "content": content});
        let Record::Message(message) = serde_json::from_value(record).unwrap() else { unreachable!() };
        assert_eq!(message.kind, Kind::Response);
        *message
    }

    #[test]
    fn what_1_0_says_is_read_in_the_words_of_0_3() {
        let result = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}});
        let whole = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        let seen = message(&["message/send", "SendMessage"], &whole).document_json();
        assert_eq!(seen["result"], json!({"kind": "task", "id": "t", "status": {"state": "completed"}}));
        // Without the name of 1.0 it is what somebody of 0.3 said.
        assert_eq!(message(&["message/send"], &whole).document_json(), whole);
        let card = json!({"supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
        assert_eq!(message(&[CARD], &card).document_json()["url"], "u");
    }
}

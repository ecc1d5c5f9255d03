//! What an agent says in the end to whoever started it: what its process wrote to its standard output.
//!
//! It is a message like any other, of a protocol of its own, so that indicators can look at it:
//!
//! ```yaml
//! indicators:
//!   - {protocol: agent, surface: answer, target: text, pattern: {contains: the canary}}
//! ```

use serde_json::json;

use crate::content::Content;
use crate::record::{Direction, Kind, Message, Record, Sender};

/// The protocol, the mode and the actor of the record.
pub const PROTOCOL: &str = "agent";

/// The operation.
pub const SURFACE: &str = "answer";

/// The record of an answer, to be given its position and its time by who writes it.
///
/// ```
/// use sortie_trace::{Record, agent_answer};
///
/// let Record::Message(message) = agent_answer::record("250 EUR are 271.40 USD.") else { unreachable!() };
/// assert_eq!(message.content.text(), r#"{"text":"250 EUR are 271.40 USD."}"#);
/// ```
pub fn record(text: &str) -> Record {
    Record::Message(Box::new(Message {
        seq: 0,
        time: String::new(),
        actor: PROTOCOL.to_owned(),
        mode: PROTOCOL.to_owned(),
        phase: String::new(),
        protocol: PROTOCOL.to_owned(),
        surfaces: vec![SURFACE.to_owned()],
        direction: Direction::Response,
        kind: Kind::Event,
        id: None,
        connection: "stdout".to_owned(),
        sender: Sender::Agent,
        content: Content::from_wire(json!({"text": text}).to_string().as_bytes()),
    }))
}

pub(crate) fn is_one(message: &Message) -> bool {
    message.protocol == PROTOCOL && message.sender == Sender::Agent
}

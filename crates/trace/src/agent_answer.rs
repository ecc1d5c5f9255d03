//! What an agent answers its user, whatever it is reached by.
//!
//! It is a surface of its own, so that one indicator fits all agents:
//!
//! ```yaml
//! indicators:
//!   - {protocol: agent, surface: answer, target: text, pattern: {contains: the canary}}
//! ```
//!
//! | the agent | its answer |
//! |---|---|
//! | a process that we start | what it wrote to its standard output, a message of its own |
//! | over AG-UI | each text, when it is whole; the last text of the assistant in a snapshot |
//! | over A2A | the texts of a message, of a task, of its updates and artifacts |

use serde_json::{Value, json};
use sortie_oatf::model::Mode;

use crate::content::Content;
use crate::record::{Direction, Kind, Message, Record, Sender};
use crate::transcript::texts_of;

/// The protocol, the mode and the actor of the record.
pub const PROTOCOL: &str = sortie_bindings::AGENT;

/// The operation.
pub const SURFACE: &str = sortie_bindings::ANSWER;

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
        source: None,
        refused: None,
        wrapped: None,
        content: Content::from_wire(json!({"text": text}).to_string().as_bytes()),
    }))
}

/// Whether a message is what a process of ours said in the end.
pub(crate) fn is_one(message: &Message) -> bool {
    message.protocol == PROTOCOL && message.sender == Sender::Agent
}

/// Whether a message may hold an answer, whatever it is reached by.
pub fn may_hold(message: &Message) -> bool {
    let is = |known: &[&str]| message.surfaces.iter().any(|surface| known.contains(&surface.as_str()));
    is_one(message)
        || message.sender == Sender::Agent
            && match Mode::of(&message.mode) {
                Mode::AgUiClient => is(&["text_message_end", "text_message_chunk", "messages_snapshot"]),
                Mode::A2aClient => {
                    message.kind != Kind::Request
                        && is(&[
                            "message/send",
                            "message/stream",
                            "tasks/get",
                            "task/status",
                            "task/artifact",
                        ])
                }
                _ => false,
            }
}

/// The answer that a message holds, as indicators see it: `{"text": …}`. `seen` is what they see of the message itself.
///
/// ```
/// use serde_json::json;
/// use sortie_trace::{Record, agent_answer};
///
/// let Record::Message(message) = agent_answer::record("Done.") else { unreachable!() };
/// let seen = json!({"text": "Done."});
/// assert_eq!(agent_answer::of(&message, &seen), Some(seen.clone()));
/// ```
pub fn of(message: &Message, seen: &Value) -> Option<Value> {
    if !may_hold(message) {
        return None;
    }
    let text = match Mode::of(&message.mode) {
        Mode::AgUiClient => {
            let snapshot = || {
                let mut said = seen["messages"].as_array()?.iter().rev();
                said.find(|message| message["role"] == "assistant")?.get("content")
            };
            seen.get("_text").or_else(snapshot)?.as_str()?.to_owned()
        }
        Mode::A2aClient => {
            let mut texts = texts_of(seen);
            texts.extend(texts_of(&seen["artifact"]));
            texts.join("\n")
        }
        _ => return Some(seen.clone()),
    };
    (!text.is_empty()).then(|| json!({ "text": text }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    fn message(mode: &str, surface: &str, kind: Kind) -> Message {
        let Record::Message(message) = record("") else { unreachable!() };
        let protocol = mode.rsplit_once('_').unwrap().0.to_owned();
        Message { mode: mode.to_owned(), protocol, surfaces: vec![surface.to_owned()], kind, ..*message }
    }

    #[test]
    fn each_protocol_has_its_own_place_for_what_the_user_is_told() {
        let told = |mode: &str, surface: &str, kind: Kind, seen: Value| {
            of(&message(mode, surface, kind), &seen).map(|answer| answer["text"].clone())
        };
        let event = Kind::Event;
        assert_eq!(
            told("ag_ui_client", "text_message_end", event, json!({"_text": "Hi"})),
            Some(json!("Hi"))
        );
        let snapshot = json!({"messages": [{"role": "assistant", "content": "one"}, {"role": "user", "content": "two"}]});
        assert_eq!(told("ag_ui_client", "messages_snapshot", event, snapshot), Some(json!("one")));
        assert_eq!(told("ag_ui_client", "tool_call_end", event, json!({"_text": "Hi"})), None);
        let part = json!([{"kind": "text", "text": "Hi"}]);
        let task = json!({"kind": "task", "status": {"state": "completed", "message": {"parts": part}}});
        assert_eq!(told("a2a_client", "message/send", Kind::Response, task), Some(json!("Hi")));
        let artifact = json!({"kind": "artifact-update", "artifact": {"parts": part}});
        assert_eq!(told("a2a_client", "task/artifact", event, artifact), Some(json!("Hi")));
        // What the agent asks another agent is not an answer to its user.
        assert_eq!(told("a2a_server", "message/send", Kind::Request, json!({"parts": part})), None);
        // An empty answer says nothing.
        assert_eq!(told("a2a_client", "message/send", Kind::Response, json!({"kind": "task"})), None);
    }
}

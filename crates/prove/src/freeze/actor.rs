//! What was said and called in a case, as something that an actor plays.

use serde_json::{Value, json};
use sortie_engine::targets::{ACTOR, phase_of_turn};
use sortie_oatf::model::Mode;
use sortie_trace::{Message, Record, Sender};
use sortie_trace::{Role, Transcript, Turn};

use super::FreezeError;
use super::indicators::{Look, Shows};

/// How a case is played again.
pub(super) struct Played {
    /// The name of its last phase.
    pub(super) last: String,
    /// The operation by which each turn is asked.
    pub(super) asks: &'static str,
    /// The actor, as a document has it.
    pub(super) actor: Value,
}

/// The actor that says again what was said.
pub(super) fn played(
    mode: &str,
    transcript: &Transcript,
    records: &[Record],
    look: &Look,
) -> Result<Played, FreezeError> {
    let turns: Vec<&Turn> = transcript.turns().iter().filter(|turn| turn.role == Role::Attacker).collect();
    let attacker = Mode::of(mode);
    let asks = match attacker {
        Mode::McpClient if look.place.shows == Shows::Tools => "tools/list",
        Mode::McpClient => "tools/call",
        Mode::A2aClient => "message/send",
        _ => "run_agent_input",
    };
    let mut states = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        states.push(match (attacker, asks) {
            (Mode::McpClient, "tools/list") => json!({"actions": [{"method": asks}]}),
            (Mode::McpClient, _) => {
                let call = turn.call.as_ref().ok_or(FreezeError::NoCall)?;
                let arguments = escaped(&Value::Object(call.arguments.clone()));
                let call = json!({"method": asks, "params": {"name": escaped(&call.name.as_str().into()), "arguments": arguments}});
                let first = (at == 0 && look.reads_tools()).then(|| json!({"method": "tools/list"}));
                json!({"actions": first.into_iter().chain([call]).collect::<Vec<_>>()})
            }
            (Mode::A2aClient, _) => message_send(turn, at, asked(records, asks).nth(at)),
            _ => run_agent_input(&turns, at, transcript, asked(records, asks).nth(at)),
        });
    }
    let last = states.len().saturating_sub(1);
    // What the agent is told next depends on what it said, and nothing is extracted that nobody is told.
    let told: Vec<String> = (0..states.len()).map(|at| Value::from(&states[at + 1..]).to_string()).collect();
    let phases_of = states.into_iter().enumerate().map(|(at, state)| {
        let mut phase = json!({"name": phase_of_turn(at), "state": state});
        if at < last {
            let answer = format!("answer_{}", at + 1);
            let known = match attacker {
                Mode::A2aClient => vec![("context", "$.contextId"), ("task", "$.id")],
                _ => vec![(answer.as_str(), "$._text")],
            };
            let used = known.into_iter().filter(|(name, _)| told[at].contains(&format!("{{{{{name}}}}}")));
            let extractors: Vec<Value> = used.map(|(name, selector)| extractor(name, selector)).collect();
            if !extractors.is_empty() {
                phase["extractors"] = extractors.into();
            }
            phase["trigger"] =
                json!({"event": if attacker == Mode::AgUiClient { "run_finished" } else { asks }});
        }
        phase
    });
    let actor = json!({"name": ACTOR, "mode": mode, "phases": phases_of.collect::<Vec<_>>()});
    Ok(Played { last: phase_of_turn(last), asks, actor })
}

fn extractor(name: &str, selector: &str) -> Value {
    json!({"name": name, "source": "response", "type": "json_path", "selector": selector})
}

/// The requests that were recorded of an operation, as documents write them.
fn asked<'r>(records: &'r [Record], surface: &'r str) -> impl Iterator<Item = Value> + 'r {
    requests(records, surface).map(Message::document_json).filter(|request| !request.is_null())
}

/// The same, as records.
pub(super) fn requests<'r>(records: &'r [Record], surface: &'r str) -> impl Iterator<Item = &'r Message> {
    records.iter().filter_map(move |record| match record {
        Record::Message(message) => is_request(message, surface).then_some(&**message),
        _ => None,
    })
}

/// Whether a message is a request of ours for an operation.
pub(super) fn is_request(message: &Message, surface: &str) -> bool {
    message.sender == Sender::Actor
        && message.kind == sortie_trace::Kind::Request
        && message.surfaces.iter().any(|known| known == surface)
}

fn message_send(turn: &Turn, at: usize, recorded: Option<Value>) -> Value {
    let recorded = recorded.unwrap_or_default();
    let said = &recorded["params"]["message"];
    let mut message = json!({
        "kind": "message", "role": "user", "messageId": format!("message-{}", at + 1),
        "parts": [{"kind": "text", "text": escaped(&turn.text.as_str().into())}],
    });
    for (key, name) in [("contextId", "{{context}}"), ("taskId", "{{task}}")] {
        if said.get(key).is_some() && at > 0 {
            message[key] = name.into();
        }
    }
    let mut params = json!({"message": message});
    if let Some(configuration) = recorded["params"].get("configuration") {
        params["configuration"] = escaped(configuration);
    }
    json!({"actions": [{"method": "message/send", "params": params}]})
}

/// What was posted, with what the agent said before as it says it this time.
fn run_agent_input(turns: &[&Turn], at: usize, transcript: &Transcript, recorded: Option<Value>) -> Value {
    let answers: Vec<&str> = transcript
        .turns()
        .iter()
        .filter(|turn| turn.role == Role::Target)
        .map(|turn| turn.text.as_str())
        .collect();
    let mut messages = Vec::new();
    let recorded = recorded.unwrap_or_default();
    for message in recorded["messages"].as_array().into_iter().flatten() {
        let mut message = message.clone();
        let answer = answers.iter().take(at).position(|answer| message["content"] == **answer);
        match answer.filter(|_| message["role"] == "assistant") {
            Some(answer) => message["content"] = format!("{{{{answer_{}}}}}", answer + 1).into(),
            None => message = escaped(&message),
        }
        messages.push(message);
    }
    if messages.is_empty() {
        messages.push(
            json!({"id": "user-1", "role": "user", "content": escaped(&turns[at].text.as_str().into())}),
        );
    }
    json!({"run_agent_input": {
        "threadId": "frozen", "runId": format!("frozen-{}", at + 1), "state": {}, "messages": messages,
        "tools": [], "context": [], "forwardedProps": {},
    }})
}

/// Texts that say what they say, whatever templates do.
// Values come from readers of JSON, which stop at 128 levels.
fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("{{", "\\{{")),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), escaped(value))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn what_looks_like_a_template_is_sent_as_it_is() {
        for text in ["{{7*7}}", r"\{{x}}", "{{{a}}}", "{{", r"a\b {{{{x}} \\{{y}}", "plain"] {
            let written = escaped(&text.into());
            let (sent, warnings) = sortie_oatf::template::interpolate_template(
                written.as_str().unwrap(),
                &HashMap::new(),
                None,
                None,
            );
            assert_eq!((sent.as_str(), warnings.len()), (text, 0));
        }
    }
}

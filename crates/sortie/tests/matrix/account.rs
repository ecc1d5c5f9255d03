//! Whether what an agent wrote down accounts for a message that an indicator found.

use std::collections::BTreeMap;

use serde_json::Value;

/// What an agent sent in one message; where a protocol sends it in pieces, all of them together.
struct Sent<'r> {
    content: &'r Value,
    /// The tool that it calls, and with what.
    call: Option<(String, Value)>,
    /// All that is text in it.
    text: String,
}

/// Whether one of these lines of a log says that the agent sent this message, or what was found in it.
pub(crate) fn accounts(lines: &[&Value], seq: u64, records: &[Value]) -> bool {
    let message = records.iter().find(|record| record["seq"] == seq && record["record"] == "message");
    let Some(message) = message.filter(|message| message["sender"] == "agent") else { return false };
    let sent = Sent::new(message, records);
    lines.iter().any(|line| sent.is_said_by(line))
}

/// Whether the message at a position says these words, or is them.
pub(crate) fn says(seq: u64, words: &str, records: &[Value]) -> bool {
    let message = records.iter().find(|record| record["seq"] == seq && record["record"] == "message");
    message.is_some_and(|message| {
        let sent = Sent::new(message, records);
        sent.text.contains(words) || sorted(sent.content).to_string().contains(words)
    })
}

impl<'r> Sent<'r> {
    fn new(message: &'r Value, records: &'r [Value]) -> Self {
        let content = &message["content"];
        let mut text = String::new();
        strings(content, &mut text);
        let mut call = call_of(&content["params"]);
        for key in ["toolCallId", "messageId"] {
            let Some(id) = content[key].as_str().filter(|_| message["protocol"] == "ag_ui") else { continue };
            let events = || records.iter().map(|record| &record["content"]).filter(|event| event[key] == id);
            let pieces: String = events().filter_map(|event| event["delta"].as_str()).collect();
            let name = events().find_map(|event| event["toolCallName"].as_str());
            let arguments = serde_json::from_str(&pieces).unwrap_or(Value::Null);
            call = name.map(|name| (name.to_owned(), arguments));
            text.push_str(&pieces);
        }
        Self { content, call, text }
    }

    fn is_said_by(&self, line: &Value) -> bool {
        let calls = |tool: &Value| self.call.as_ref().filter(|(name, _)| *tool == name.as_str());
        let says = |words: &Value| words.as_str().is_some_and(|words| self.text.contains(words));
        // An answer to a question of 2026-07-28 has no envelope of its own.
        let result = self.content.get("result").unwrap_or(self.content);
        match line["did"].as_str().unwrap_or_default() {
            "tools/call" => {
                calls(&line["tool"]).is_some_and(|(_, arguments)| *arguments == line["arguments"])
            }
            "argument" => calls(&line["tool"]).is_some_and(|(_, arguments)| match line["field"].as_str() {
                Some(field) => arguments[field] == line["value"],
                None => *arguments == line["value"],
            }),
            "message/send" => says(&line["arguments"]["message"]),
            "resources/read" => self.content["params"]["uri"] == line["uri"],
            "elicitation/accept" => result["action"] == "accept" && result["content"] == line["content"],
            "say" | "sampling/answer" | "give a note" | "keep a note" | "greet" => says(&line["text"]),
            // The document has the address of another host for what is fetched from our listener.
            "fetch" => {
                let path =
                    |url: &Value| url.as_str().and_then(|url| url.rsplit('/').next().map(str::to_owned));
                path(&line["url"]).is_some() && path(&line["url"]) == path(&self.content["url"])
            }
            _ => false,
        }
    }
}

/// The same with its members in the order of their names: a whole object is searched as that text.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(name, value)| (name, sorted(value))).collect();
            members.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        other => other.clone(),
    }
}

fn call_of(params: &Value) -> Option<(String, Value)> {
    Some((params["name"].as_str()?.to_owned(), params["arguments"].clone()))
}

fn strings(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => {
            text.push_str(string);
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, text)),
        Value::Object(members) => members.values().for_each(|member| strings(member, text)),
        _ => {}
    }
}

//! A file in which a call is missing, a result is cut, or an id is another gives other messages, or another loss: never the same.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sortie_import::{Format, Input, InputLimits};

use crate::recordings;

const FORMATS: &[&str] = &["inspect", "agentdojo", "openai-chat", "mcp-stdio", "thoughtjack"];

/// What is read of a file, but for where in it.
fn outcome(format: &Format, name: &str, bytes: &[u8]) -> String {
    let input = Input::stream(bytes, name, InputLimits::default()).unwrap();
    let mut text = String::new();
    let read = format.read(input, &mut |session| {
        for message in session.messages() {
            writeln!(text, "{:?} {:?} {}", message.surfaces, message.id, message.content.text()).unwrap();
        }
        text += &serde_json::to_string(&session.loss).unwrap();
        Ok(())
    });
    text + &format!("{:?}", read.map_err(|error| error.to_string()))
}

/// A file as values: the whole, or its lines, with what stands before the JSON of each.
fn values(text: &str) -> Vec<(String, Value)> {
    if let Ok(value) = serde_json::from_str(text) {
        return vec![(String::new(), value)];
    }
    let line = |line: &str| {
        let starts = line.char_indices().filter(|(_, char)| matches!(char, '{' | '['));
        let found = starts.take(3).find_map(|(at, _)| Some((at, serde_json::from_str(&line[at..]).ok()?)));
        found.map_or_else(|| (line.to_owned(), Value::Null), |(at, value)| (line[..at].to_owned(), value))
    };
    text.lines().map(line).collect()
}

fn written(values: &[(String, Value)]) -> String {
    let line = |(before, value): &(String, Value)| match value {
        Value::Null => format!("{before}\n"),
        value => format!("{before}{value}\n"),
    };
    values.iter().map(line).collect()
}

/// Every place in a value, by pointer.
fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, format!("{at}/{index}"), all));
        }
        Value::Object(members) => members.iter().for_each(|(key, item)| {
            places(item, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), all);
        }),
        _ => {}
    }
    all.push(at);
}

/// Copies that say nothing: inspect keeps messages in its state, in its pool, and, as calls of a provider, in events.
fn is_copy(format: &str, at: &str) -> bool {
    let parts: Vec<&str> = at.split('/').collect();
    match format {
        "inspect" => !matches!(
            parts.as_slice(),
            ["", "samples", _, "events", _]
                | ["", "samples", _, "messages", ..]
                | ["", "samples", _, "events", _, "output", ..]
        ),
        // A result repeats its call.
        "agentdojo" => parts.contains(&"tool_call"),
        _ => false,
    }
}

/// The ways in which what stands at a place can be wrong, each with its name.
fn damages(format: &str, at: &str, object: &Value) -> Vec<(&'static str, Option<Value>)> {
    let mut all: Vec<(&'static str, Option<Value>)> = Vec::new();
    let mut with = |what, key: &str, value: Value| {
        let mut changed = object.clone();
        changed[key] = value;
        all.push((what, Some(changed)));
    };
    let is_call = at.contains("/tool_calls/") && object.get("function").is_some();
    let is_event = object["event"] == "tool";
    let is_result = object["role"] == "tool" || object["role"] == "function";
    let is_rpc = object.get("jsonrpc").is_some();
    let is_line = object["method"] == "tools/call" && object.get("actor").is_some();
    for (key, is_it) in [("id", is_call | is_event | is_rpc), ("tool_call_id", is_result)] {
        if is_it && object[key].is_string() {
            with("another id", key, json!("somebody-else"));
        } else if is_it && object[key].is_number() {
            with("another id", key, json!(4711));
        }
    }
    for (key, is_it) in [("content", is_result | is_line), ("result", is_event | is_rpc)] {
        if let Some(cut) = is_it.then(|| truncated(&object[key])).flatten() {
            with("a truncated result", key, cut);
        }
    }
    // What inspect says in the end is a copy of what its events say.
    let is_conversation = format == "inspect" && at.contains("/messages/");
    if (is_call | is_event | is_rpc | is_line) && !is_conversation {
        all.push(("no call", None));
    }
    all
}

/// A value without the second half of its first text.
fn truncated(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if text.chars().count() > 1 => {
            Some(Value::from(text.chars().take(text.chars().count() / 2).collect::<String>()))
        }
        Value::Array(items) => {
            let (at, cut) = items.iter().enumerate().find_map(|(at, item)| Some((at, truncated(item)?)))?;
            let mut items = items.clone();
            items[at] = cut;
            Some(Value::Array(items))
        }
        Value::Object(members) => {
            let keys = ["content", "text", "result", "message", "protocolVersion", "tools", "description"];
            let mut found =
                keys.iter().filter(|key| members.get(**key).is_some_and(|value| *value != "text"));
            let (key, cut) = found.find_map(|key| Some((key, truncated(&members[*key])?)))?;
            let mut members = members.clone();
            members[*key] = cut;
            Some(Value::Object(members))
        }
        _ => None,
    }
}

/// Puts another value at a place, or removes what is there. Tells whether that is possible.
fn put(value: &mut Value, at: &str, new: Option<Value>) -> bool {
    let Some(new) = new else {
        let Some((parent, last)) = at.rsplit_once('/') else { return false };
        let Some(Value::Array(items)) = value.pointer_mut(parent) else { return false };
        items.remove(last.parse().unwrap());
        return true;
    };
    *value.pointer_mut(at).unwrap() = new;
    true
}

#[test]
fn no_damage_to_a_call_goes_unnoticed() {
    let mut counted = std::collections::BTreeMap::new();
    for (format, file) in recordings().into_iter().filter(|(format, _)| FORMATS.contains(&format.name)) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        // Half a pipe has answers of which nobody knows what they answer: that is its loss, whatever they say.
        if name.ends_with(".stdout.jsonl") {
            continue;
        }
        // Archives hold the same samples as `.json`: what is read of the two is compared in `hostile.rs`.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let values = values(&text);
        let right = outcome(format, &name, written(&values).as_bytes());
        for line in 0..values.len() {
            let mut all = Vec::new();
            places(&values[line].1, String::new(), &mut all);
            for at in all.iter().filter(|at| !is_copy(format.name, at)) {
                let here = values[line].1.pointer(at).filter(|here| here.is_object());
                // In `odd.log`, 99 answers nothing, with any other id too.
                let here = here.filter(|here| here["id"] != 99);
                for (what, new) in here.map(|here| damages(format.name, at, here)).unwrap_or_default() {
                    let mut damaged = values.clone();
                    if at.is_empty() && new.is_none() {
                        damaged.remove(line);
                    } else if !put(&mut damaged[line].1, at, new) {
                        continue;
                    }
                    let wrong = outcome(format, &name, written(&damaged).as_bytes());
                    assert_ne!(wrong, right, "{name}, line {}, {at}: {what}", line + 1);
                    *counted.entry((format.name, what)).or_insert(0) += 1;
                }
            }
        }
    }
    println!("{counted:?}");
    for format in FORMATS {
        for what in ["a truncated result", "no call"] {
            assert!(counted.contains_key(&(*format, what)), "{format} has no {what}");
        }
    }
}

//! A session file that was changed is told apart: something of its messages or of what was lost changes.
//!
//! For each recording of a coding agent, each change is made wherever it can be: a line (or part) that holds a call or a result
//! is removed, a result is cut off, an id is changed, the file ends too early.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sortie_import::{DeclaredServer, Format, Formats, ImportError, Input, InputLimits};

const FORMATS: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

/// Everything that is made of a file: headers, messages and losses, or an error. Positions in the file are left out, so that a
/// removed line does not count as a change in itself, and neither do the counts of what was passed over.
fn told(format: &Format, name: &str, text: &str) -> String {
    let servers = ["default", "diary", "game"].map(DeclaredServer::named);
    let mut told = String::new();
    let input = Input::stream(text.as_bytes(), name, InputLimits::default()).unwrap().with_servers(&servers);
    let read = format.read(input, &mut |session| {
        let header = serde_json::to_string(&session.header("test")).unwrap();
        told.push_str(&header);
        for message in session.messages() {
            let mut message = serde_json::to_value(message).unwrap();
            message["source"].take();
            told.push_str(&message.to_string());
        }
        let mut loss = serde_json::to_value(&session.loss).unwrap();
        loss["passed_over"].take();
        told.push_str(&loss.to_string());
        Ok(())
    });
    if let Err(error) = read {
        told.push_str(&error.to_string());
    }
    told
}

fn recordings() -> Vec<(&'static Format, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut all = Vec::new();
    for name in FORMATS {
        let files = fs::read_dir(root.join(name)).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl" || end == "json"));
        all.extend(files.map(|file| (Formats::named(name).unwrap(), file)));
    }
    assert!(all.len() > 20);
    all
}

/// The values of a file, one for each line, or one in all.
fn values(format: &Format, text: &str) -> Vec<Value> {
    match format.name {
        "opencode" => vec![serde_json::from_str(text).unwrap()],
        _ => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    }
}

fn written(values: &[Value]) -> String {
    let lines: Vec<_> = values.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

/// Places in a file, as pointers, whose last name is one of these.
fn places(value: &Value, names: &[&str]) -> Vec<String> {
    fn walk(value: &Value, at: &str, names: &[&str], found: &mut Vec<String>) {
        let inner: Vec<(String, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
            }
            _ => return,
        };
        for (name, value) in inner {
            let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            if names.contains(&name.as_str()) {
                found.push(at.clone());
            }
            walk(value, &at, names, found);
        }
    }
    let mut found = Vec::new();
    walk(value, "", names, &mut found);
    found
}

/// Whether a line holds a call or a result that its session is made of, and not a second record of one.
fn holds_a_call(format: &Format, line: &Value) -> bool {
    match format.name {
        "claude-code" => {
            let blocks = line["message"]["content"].as_array().into_iter().flatten();
            let mut kinds = blocks.map(|block| block["type"].as_str().unwrap_or_default());
            matches!(line["type"].as_str(), Some("user" | "assistant"))
                && kinds.any(|kind| kind == "tool_use" || kind == "tool_result")
        }
        "codex" => {
            let kind = line["payload"]["type"].as_str().unwrap_or_default();
            ["function_call", "function_call_output"].contains(&kind)
                || line["payload"]["item"]["type"] == "McpToolCall"
        }
        _ => line["toolCalls"].is_array(),
    }
}

#[test]
fn a_call_that_is_removed_is_missed() {
    let mut changes = 0;
    for (format, file) in recordings() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let values = values(format, &text);
        let before = told(format, name, &written(&values));
        let without: Vec<Vec<Value>> = if format.name == "opencode" {
            // A part of a message instead of a line.
            let pointers = places(&values[0], &["callID"]);
            let parts = pointers.iter().map(|pointer| pointer.strip_suffix("/callID").unwrap());
            let removed = parts.map(|part| {
                let (list, index) = part.rsplit_once('/').unwrap();
                let mut whole = values[0].clone();
                let list = whole.pointer_mut(list).unwrap().as_array_mut().unwrap();
                list.remove(index.parse().unwrap());
                vec![whole]
            });
            removed.collect()
        } else {
            let lines = (0..values.len()).filter(|line| holds_a_call(format, &values[*line]));
            let removed = lines.map(|line| {
                let mut rest = values.clone();
                rest.remove(line);
                rest
            });
            removed.collect()
        };
        for changed in without {
            changes += 1;
            assert_ne!(
                told(format, name, &written(&changed)),
                before,
                "{}, {name}: nobody missed it",
                format.name
            );
        }
    }
    assert!(changes > 60, "{changes}");
}

/// Members that hold results, or ids by which calls and results find each other.
fn members(format: &Format) -> (&'static [&'static str], &'static [&'static str]) {
    match format.name {
        "claude-code" => (&["content"], &["tool_use_id", "id"]),
        "codex" => (&["output", "aggregated_output"], &["call_id", "id"]),
        "gemini-cli" => (&["output", "error"], &["id"]),
        _ => (&["output", "error"], &["callID"]),
    }
}

/// Changes a string, or the text of the last block in a list: before it, codex says how long a call took.
fn change(value: &mut Value, how: impl Fn(&str) -> String) -> bool {
    let text = match value {
        Value::Array(blocks) => match blocks.iter_mut().rev().find_map(|block| block.get_mut("text")) {
            Some(text) => text,
            None => return false,
        },
        other => other,
    };
    let Some(old) = text.as_str() else { return false };
    let new = how(old);
    let is_other = new != old;
    *text = new.into();
    is_other
}

#[test]
fn a_result_that_is_cut_off_and_an_id_that_is_changed_are_seen() {
    let (mut cut, mut renamed) = (0, 0);
    for (format, file) in recordings() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let values = values(format, &text);
        let before = told(format, name, &written(&values));
        let (results, ids) = members(format);
        for (line, value) in values.iter().enumerate() {
            if format.name == "claude-code" && !holds_a_call(format, value) {
                // Its records of requests say the same again, and are passed over.
                continue;
            }
            let is_result = |pointer: &String| match format.name {
                "claude-code" => pointer.starts_with("/message/content/"),
                "gemini-cli" => pointer.contains("/response/"),
                "opencode" => pointer.contains("/state/"),
                _ => true,
            };
            for pointer in places(value, results).into_iter().filter(is_result) {
                let mut changed = values.clone();
                let place = changed[line].pointer_mut(&pointer).unwrap();
                if !change(place, |text| text.chars().take(text.chars().count() / 2).collect()) {
                    continue;
                }
                cut += 1;
                let after = told(format, name, &written(&changed));
                assert_ne!(after, before, "{}, {name}, {}{pointer}: cut off, unseen", format.name, line + 1);
            }
            // Ids of calls, and not those of messages.
            let kind = value["payload"]["item"]["type"].as_str().unwrap_or_default();
            let is_id = |pointer: &String| match format.name {
                "claude-code" => pointer.starts_with("/message/content/"),
                "codex" if pointer == "/payload/item/id" => {
                    ["McpToolCall", "CommandExecution"].contains(&kind)
                }
                "codex" => pointer == "/payload/call_id",
                "gemini-cli" => pointer.contains("/functionResponse/") || pointer.starts_with("/toolCalls/"),
                _ => true,
            };
            for pointer in places(value, ids).into_iter().filter(is_id) {
                let mut changed = values.clone();
                assert!(change(changed[line].pointer_mut(&pointer).unwrap(), |id| format!("{id}0")));
                renamed += 1;
                let after = told(format, name, &written(&changed));
                assert_ne!(after, before, "{}, {name}, {}{pointer}: renamed, unseen", format.name, line + 1);
            }
        }
    }
    assert!(cut > 60 && renamed > 40, "{cut} {renamed}");
}

#[test]
fn a_file_that_ends_too_early_has_no_end() {
    for (format, file) in recordings() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        if format.name == "opencode" {
            let error = told(format, name, &text[..text.len() / 2]);
            assert!(error.contains("not a JSON object"), "{error}");
            continue;
        }
        // In the middle of the last line, and at the end of each line that a session cannot end with.
        let halved = told(format, name, &text[..text.trim_end().len() - 5]);
        assert!(
            halved.contains(r#""cut":"the file ends in the middle of a line""#),
            "{}, {name}",
            format.name
        );
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        for kept in 1..lines.len() {
            let line: Value = serde_json::from_str(lines[kept - 1]).unwrap();
            if holds_a_call(format, &line) {
                let ended = told(format, name, &lines[..kept].concat());
                assert!(ended.contains(r#""cut":""#), "{}, {name}, {kept} lines", format.name);
            }
        }
    }
}

/// A call of a tool that may be of a server is told apart only by the names of the servers.
#[test]
fn the_names_of_servers_tell_whose_a_tool_is() {
    let format = Formats::named("opencode").unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/opencode/two_servers.json");
    let text = fs::read_to_string(file).unwrap();
    let calls = |servers: &[&str]| {
        let servers: Vec<_> = servers.iter().map(|name| DeclaredServer::named(name)).collect();
        let input =
            Input::stream(text.as_bytes(), "x.json", InputLimits::default()).unwrap().with_servers(&servers);
        let mut calls = Vec::new();
        let mut lacks = 0;
        let read: Result<(), ImportError> = format.read(input, &mut |session| {
            lacks = session.loss.file_lacks.len();
            for message in session.messages().iter().filter(|message| message.surfaces == ["tools/call"]) {
                let content: Value = serde_json::from_str(&message.content.text()).unwrap();
                if let Some(name) = content["params"]["name"].as_str() {
                    calls.push(format!("{} {} {name}", message.protocol, message.actor));
                }
            }
            Ok(())
        });
        read.unwrap();
        (calls, lacks)
    };
    let own = "local local read".to_owned();
    let (game, diary) = ("mcp game get_fact".to_owned(), "mcp diary read_entry".to_owned());
    assert_eq!(calls(&["diary", "game"]), (vec![own.clone(), game, diary], 0));
    let (game, diary) = ("local local game_get_fact".to_owned(), "mcp diary read_entry".to_owned());
    assert_eq!(calls(&["diary"]), (vec![own, game, diary], 2));
}

#[test]
fn a_database_of_opencode_says_what_to_do() {
    let format = Formats::named("opencode").unwrap();
    let told = told(format, "opencode.db", "SQLite format 3\0…");
    assert!(told.contains("opencode export"), "{told}");
}

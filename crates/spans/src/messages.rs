//! Messages of a model, as many programs write them: with the parts of the `GenAI` conventions, as `OpenAI`, Anthropic, Gemini,
//! `LangChain` and Vercel's SDK have them.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use sortie_recording::fields::Fields;
use sortie_recording::loss::{RecordingLoss, count};

/// Who says something to a model, or is the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "system" | "developer" | "SystemMessage" => Self::System,
            "user" | "human" | "HumanMessage" => Self::User,
            "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" => Self::Assistant,
            "tool" | "function" | "ToolMessage" | "FunctionMessage" => Self::Tool,
            _ => return None,
        })
    }
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(String),
    Call { id: Option<String>, name: String, arguments: Option<Box<RawValue>> },
    Result { id: Option<String>, name: Option<String>, value: Option<Box<RawValue>>, is_error: bool },
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part>,
}

impl Turn {
    pub(crate) fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text(text.into())] }
    }
}

/// What is counted where a text is there, and what it says was not recorded.
pub(crate) const HIDDEN: &str = "a text whose content was not recorded";
/// How deep lists and wrappers of messages may stand in each other.
const DEPTH: usize = 6;

/// The messages that a JSON text holds: a list of them, one of them, or something that holds such a list. A text that is not JSON
/// is one message of this role. `None` where there is something else.
pub(crate) fn parse_messages(json: &str, role: Role, notes: &mut RecordingLoss) -> Option<Vec<Turn>> {
    let mut turns = Vec::new();
    let json = json.trim();
    if json.is_empty() {
        return Some(turns);
    }
    if !json.starts_with(['{', '[', '"']) {
        turns.push(Turn::text(role, json));
        return Some(turns);
    }
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    read_value(raw, role, &mut turns, notes, 0).then_some(turns)
}

/// Whether it was something that holds messages.
fn read_value(
    raw: &RawValue,
    role: Role,
    turns: &mut Vec<Turn>,
    notes: &mut RecordingLoss,
    depth: usize,
) -> bool {
    let json = raw.get();
    if depth > DEPTH {
        return false;
    }
    match json.as_bytes().first() {
        Some(b'"') => {
            let text: String = serde_json::from_str(json).unwrap_or_default();
            if !text.is_empty() {
                turns.push(Turn::text(role, text));
            }
            true
        }
        Some(b'[') => {
            let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) else { return false };
            if !items.is_empty() && items.iter().all(|item| is_part(item)) {
                let parts = items.iter().filter_map(|item| part_of(item, notes)).collect();
                turns.push(Turn { role, parts });
                return true;
            }
            items
                .iter()
                .fold(items.is_empty(), |any, item| read_value(item, role, turns, notes, depth + 1) || any)
        }
        Some(b'{') => {
            let Some(mut fields) = Fields::of(json) else { return false };
            read_object(&mut fields, raw, role, turns, notes, depth)
        }
        _ => false,
    }
}

/// Members that hold messages, in objects that are none themselves.
const HOLDERS: [&str; 15] = [
    "messages",
    "generations",
    "message",
    "choices",
    "outputs",
    "inputs",
    "output",
    "input",
    "update",
    "candidates",
    "contents",
    "prompt",
    "response",
    "data",
    "kwargs",
];

fn read_object(
    fields: &mut Fields<'_>,
    raw: &RawValue,
    role: Role,
    turns: &mut Vec<Turn>,
    notes: &mut RecordingLoss,
    depth: usize,
) -> bool {
    let word = |fields: &Fields<'_>, key| fields.peek(key).and_then(text);
    // LangChain: `{"lc": 1, "type": "constructor", "id": [.., "AIMessage"], "kwargs": {..}}`, `{"type": "ai", "data": {..}}`.
    if fields.peek("lc").is_some()
        && let Some(kwargs) = fields.take("kwargs")
    {
        let id = fields.get::<Vec<String>>("id").unwrap_or_default();
        let named = id.last().and_then(|name| Role::named(name));
        return match (named, Fields::of(kwargs.get())) {
            (Some(named), Some(mut kwargs)) => message(&mut kwargs, named, turns, notes),
            (None, Some(_)) => read_value(kwargs, role, turns, notes, depth + 1),
            _ => false,
        };
    }
    if let (Some(named), Some(data)) =
        (word(fields, "type").and_then(|name| Role::named(&name)), fields.peek("data"))
        && let Some(mut data) = Fields::of(data.get())
    {
        return message(&mut data, named, turns, notes);
    }
    let named =
        word(fields, "role").or_else(|| word(fields, "type").filter(|_| fields.peek("content").is_some()));
    if let Some(named) = named.as_deref().and_then(Role::named) {
        return message(fields, named, turns, notes);
    }
    if is_part(raw) {
        if let Some(part) = part_of(raw, notes) {
            turns.push(Turn { role, parts: vec![part] });
        }
        return true;
    }
    let has_no_role = fields.peek("role").is_none() && fields.peek("messages").is_none();
    if has_no_role
        && (fields.peek("content").is_some()
            || fields.peek("tool_calls").is_some()
            || fields.peek("parts").is_some())
    {
        return message(fields, role, turns, notes);
    }
    if let Some(text) = word(fields, "text")
        && fields.peek("message").is_none()
    {
        turns.push(Turn::text(role, text));
        return true;
    }
    let mut any = false;
    for holder in HOLDERS {
        if let Some(held) = fields.take(holder) {
            any |= read_value(held, role, turns, notes, depth + 1);
            if any {
                break;
            }
        }
    }
    any
}

/// Members of messages that say nothing.
const PASSED: &[&str] = &[
    "finish_reason",
    "name",
    "id",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "index",
    "invalid_tool_calls",
    "example",
    "refusal",
    "annotations",
    "audio",
    "type",
    "timestamp",
    "model",
    "usage",
    "stop_reason",
    "stop_sequence",
    "artifact",
    "status",
    "logprobs",
    "lc_attributes",
    "providerOptions",
    "provider_metadata",
    "experimental_content",
    "generation_info",
    "tool_call_chunks",
    "chunk_position",
    "reasoning_content",
    "reasoning",
    "thinking",
];

/// A message, of which the role is known.
fn message(fields: &mut Fields<'_>, role: Role, turns: &mut Vec<Turn>, notes: &mut RecordingLoss) -> bool {
    fields.take("role");
    let mut parts = Vec::new();
    let content = fields.take("content").or_else(|| fields.take("parts"));
    if role == Role::Tool && !content.is_some_and(holds_results) {
        let id =
            fields.text("tool_call_id").or_else(|| fields.text("id")).or_else(|| fields.text("toolCallId"));
        let is_error = fields.peek("status").and_then(text).is_some_and(|status| status == "error");
        let name = fields.text("name");
        parts.push(Part::Result { id, name, value: content.map(ToOwned::to_owned), is_error });
    } else if let Some(content) = content {
        content_parts(content, &mut parts, notes);
    }
    for call in fields.items("tool_calls").unwrap_or_default() {
        let Some(call) = call_of(call) else {
            count(&mut notes.unknown, "a tool call that is none");
            continue;
        };
        // Anthropic's parts and `tool_calls` say the same, where a program keeps both.
        let known = |part: &Part| matches!((part, &call), (Part::Call { id: Some(a), .. }, Part::Call { id: Some(b), .. }) if a == b);
        if !parts.iter().any(known) {
            parts.push(call);
        }
    }
    if let Some(call) = fields.take("function_call").and_then(call_of) {
        parts.push(call);
    }
    for name in fields.left() {
        let table = if PASSED.contains(&name) { &mut notes.passed_over } else { &mut notes.unknown };
        count(table, &format!("message.{name}"));
    }
    turns.push(Turn { role, parts });
    true
}

fn content_parts(content: &RawValue, parts: &mut Vec<Part>, notes: &mut RecordingLoss) {
    match content.get().as_bytes().first() {
        Some(b'"') => parts.extend(text(content).filter(|text| !text.is_empty()).map(Part::Text)),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
            parts.extend(items.iter().filter_map(|item| {
                if item.get().starts_with('"') { text(item).map(Part::Text) } else { part_of(item, notes) }
            }));
        }
        Some(b'{') => {
            // Gemini: `{"role", "parts"}` within; else a single part.
            let inner = Fields::of(content.get()).and_then(|mut fields| fields.take("parts"));
            match inner {
                Some(inner) => content_parts(inner, parts, notes),
                None => parts.extend(part_of(content, notes)),
            }
        }
        _ => {}
    }
}

/// Whether the content of a `tool` message is parts that say of which call they are.
fn holds_results(content: &RawValue) -> bool {
    let items: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    items.iter().any(|item| {
        let kind = Fields::of(item.get()).and_then(|mut fields| fields.text("type"));
        kind.is_some_and(|kind| matches!(kind.as_str(), "tool_call_response" | "tool_result" | "tool-result"))
    })
}

/// Whether it is a part of a message: an object whose `type` is one of a part, or one of Gemini's.
fn is_part(raw: &RawValue) -> bool {
    let Some(mut fields) = Fields::of(raw.get()) else { return false };
    if fields.peek("functionCall").is_some() || fields.peek("functionResponse").is_some() {
        return true;
    }
    if fields.peek("role").is_some() {
        return false;
    }
    fields.text("type").is_some_and(|kind| {
        matches!(
            kind.as_str(),
            "text"
                | "output_text"
                | "input_text"
                | "tool_call"
                | "tool_call_response"
                | "tool_use"
                | "tool_result"
                | "tool-call"
                | "tool-result"
                | "reasoning"
                | "thinking"
                | "redacted_thinking"
                | "image"
                | "image_url"
                | "blob"
                | "file"
                | "uri"
                | "server_tool_call"
                | "server_tool_call_response"
                | "function_call"
                | "function_call_output"
                | "refusal"
        )
    })
}

fn part_of(raw: &RawValue, notes: &mut RecordingLoss) -> Option<Part> {
    let Some(mut fields) = Fields::of(raw.get()) else {
        count(&mut notes.unknown, "a part of a message that is not an object");
        return None;
    };
    if let Some(call) = fields.take("functionCall") {
        return call_of(call);
    }
    if let Some(mut response) = fields.object("functionResponse") {
        let value = response.take("response").map(ToOwned::to_owned);
        return Some(Part::Result {
            id: response.text("id"),
            name: response.text("name"),
            value,
            is_error: false,
        });
    }
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "reasoning" | "thinking" | "redacted_thinking" => {
            count(&mut notes.passed_over, "part.reasoning");
            None
        }
        "tool_call" | "tool_use" | "tool-call" | "function_call" | "server_tool_call" => call_of(raw),
        "tool_call_response"
        | "tool_result"
        | "tool-result"
        | "function_call_output"
        | "server_tool_call_response" => {
            let id = first_of(&mut fields, &["tool_use_id", "toolCallId", "call_id", "tool_call_id", "id"]);
            let value =
                first_of(&mut fields, &["response", "result", "output", "content"]).map(ToOwned::to_owned);
            let is_error = fields.get::<bool>("is_error").or_else(|| fields.get("isError")).unwrap_or(false);
            let name = fields.text("name").or_else(|| fields.text("toolName"));
            Some(Part::Result { id: id.and_then(text), name, value, is_error })
        }
        "image" | "image_url" | "blob" | "file" | "uri" | "audio" | "video" | "input_audio" => {
            let what = format!("part.{kind}");
            count(&mut notes.passed_over, &what);
            None
        }
        _ => {
            let said =
                fields.text("text").or_else(|| fields.text("content")).or_else(|| fields.text("refusal"));
            if let Some(said) = said {
                return (!said.is_empty()).then_some(Part::Text(said));
            }
            if matches!(kind.as_str(), "text" | "output_text" | "input_text") {
                count(&mut notes.oddities, HIDDEN);
            } else {
                count(&mut notes.unknown, &format!("a part `{kind}` without content"));
            }
            None
        }
    }
}

/// Takes the first of these members that is there.
fn first_of<'j>(fields: &mut Fields<'j>, keys: &[&str]) -> Option<&'j RawValue> {
    keys.iter().find_map(|key| fields.take(key))
}

/// A call, as any of them write it.
fn call_of(raw: &RawValue) -> Option<Part> {
    let mut fields = Fields::of(raw.get())?;
    let id = ["id", "call_id", "toolCallId", "tool_call_id"].iter().find_map(|key| fields.text(key));
    let mut inner = fields.object("function").or_else(|| fields.object("tool_call"));
    let fields = inner.as_mut().unwrap_or(&mut fields);
    let name = fields.text("name").or_else(|| fields.text("toolName"))?;
    let arguments = ["arguments", "args", "input", "parameters"].iter().find_map(|key| fields.take(key));
    Some(Part::Call { id, name, arguments: arguments.map(sortie_recording::fields::unquoted) })
}

/// What a tool gave, out of what a framework wraps it in: the value, the id of its call, and whether it is an error.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub(crate) value: Box<RawValue>,
    pub(crate) id: Option<String>,
    pub(crate) is_error: bool,
}

/// Takes a result out of `LangChain`'s `ToolMessage`, however it is written, and out of `{"output": ..}`.
pub(crate) fn tool_output(raw: &RawValue) -> ToolOutput {
    let mut value = raw.to_owned();
    for _ in 0..DEPTH {
        let Some(mut fields) = Fields::of(value.get()) else { break };
        let kind = fields.peek("type").and_then(text).unwrap_or_default();
        let inner = if kind == "tool" && fields.peek("content").is_some() {
            let id = fields.text("tool_call_id");
            let is_error = fields.text("status").is_some_and(|status| status == "error");
            let content = fields.take("content").map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
            return ToolOutput { value: content, id, is_error };
        } else if kind == "tool" && fields.peek("data").is_some() {
            fields.take("data")
        } else if fields.peek("lc").is_some() && fields.peek("kwargs").is_some() {
            fields.take("kwargs")
        } else if fields.peek("output").is_some_and(|output| {
            is_tool_message(output) || fields.left().count() == 1 || fields.peek("kwargs").is_some()
        }) {
            fields.take("output")
        } else {
            break;
        };
        let Some(inner) = inner else { break };
        value = inner.to_owned();
    }
    ToolOutput { value, id: None, is_error: false }
}

fn is_tool_message(raw: &RawValue) -> bool {
    Fields::of(raw.get()).is_some_and(|fields| {
        fields.peek("tool_call_id").is_some()
            || fields.peek("lc").is_some()
            || fields.peek("type").is_some_and(|kind| kind.get() == "\"tool\"")
    })
}

/// A text, or a number as one.
pub(crate) fn text(raw: &RawValue) -> Option<String> {
    match serde_json::from_str::<Value>(raw.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A text as JSON: what it says, when that is JSON, else the text itself.
pub(crate) fn json_of_text(text: &str) -> Box<RawValue> {
    if text.trim_start().starts_with(['{', '[', '"'])
        && let Ok(inner) = serde_json::from_str::<Box<RawValue>>(text)
    {
        return inner;
    }
    to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(json: &str) -> String {
        let mut notes = RecordingLoss::default();
        let turns = parse_messages(json, Role::User, &mut notes);
        let Some(turns) = turns else { return "none".into() };
        let mut words = Vec::new();
        for turn in turns {
            for part in turn.parts {
                words.push(match part {
                    Part::Text(text) => format!("{:?}: {text}", turn.role),
                    Part::Call { id, name, arguments } => {
                        format!(
                            "call {} {name} {}",
                            id.unwrap_or_default(),
                            arguments.map_or_else(String::new, |raw| raw.get().to_owned())
                        )
                    }
                    Part::Result { id, value, is_error, .. } => {
                        format!(
                            "result {} {} {is_error}",
                            id.unwrap_or_default(),
                            value.map_or_else(String::new, |raw| raw.get().to_owned())
                        )
                    }
                });
            }
        }
        assert!(notes.unknown.is_empty(), "{json}: {:?}", notes.unknown);
        words.join("; ")
    }

    #[test]
    fn messages_are_read_as_anybody_writes_them() {
        let cases = [
            (r#"[{"role":"user","parts":[{"type":"text","content":"hi"}]}]"#, "User: hi"),
            (
                r#"[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"1","name":"f","arguments":"{\"a\":1}"}],"finish_reason":"x"}]"#,
                r#"call 1 f {"a":1}"#,
            ),
            (
                r#"[{"role":"user","parts":[{"type":"tool_call_response","id":"1","response":"ok"}]}]"#,
                r#"result 1 "ok" false"#,
            ),
            (
                r#"[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","result":{"a":1}}]}]"#,
                r#"result 1 {"a":1} false"#,
            ),
            (
                r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#,
                "call 1 f {}",
            ),
            (r#"[{"role":"tool","tool_call_id":"1","content":"ok"}]"#, r#"result 1 "ok" false"#),
            (
                r#"{"messages":[[{"lc":1,"type":"constructor","id":["l","HumanMessage"],"kwargs":{"content":"hi","type":"human"}}]]}"#,
                "User: hi",
            ),
            (
                r#"{"generations":[[{"text":"yo","generation_info":{},"type":"ChatGeneration","message":{"lc":1,"type":"constructor","id":["l","AIMessage"],"kwargs":{"content":"yo","type":"ai","tool_calls":[]}}}]],"llm_output":null}"#,
                "Assistant: yo",
            ),
            (
                r#"{"messages":[{"type":"tool","data":{"content":[{"type":"text","text":"ok"}],"type":"tool","tool_call_id":"1","status":"error"}}]}"#,
                r#"result 1 [{"type":"text","text":"ok"}] true"#,
            ),
            (
                r#"[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{}}]}]"#,
                "User: hi",
            ),
            (
                r#"[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]}]"#,
                r#"call 1 f {"a":1}"#,
            ),
            (
                r#"[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"1","toolName":"f","input":{"a":1}}]}]"#,
                r#"call 1 f {"a":1}"#,
            ),
            (r#"[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]"#, "call  f {}"),
            (r#"{"prompt":"hi"}"#, "User: hi"),
            (r#""hi""#, "User: hi"),
            ("hi", "User: hi"),
            ("[]", ""),
            ("7", "User: 7"),
            (r#"{"a":1}"#, "none"),
            (r#"[{"role":"us"#, "none"),
        ];
        for (json, expected) in cases {
            assert_eq!(told(json), expected, "{json}");
        }
    }

    #[test]
    fn results_come_out_of_their_wrappers() {
        let cases = [
            (
                r#"{"output": {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"content": "ok", "type": "tool", "tool_call_id": "1", "status": "success"}}, "kwargs": {}}"#,
                r#""ok""#,
                Some("1"),
            ),
            (
                r#"{"type": "tool", "data": {"content": [1], "type": "tool", "tool_call_id": "1"}}"#,
                "[1]",
                Some("1"),
            ),
            (r#"{"output": "ok"}"#, r#""ok""#, None),
            (r#"{"output": "ok", "more": 1}"#, r#"{"output": "ok", "more": 1}"#, None),
            ("3", "3", None),
        ];
        for (json, value, id) in cases {
            let output = tool_output(serde_json::from_str(json).unwrap());
            assert_eq!((output.value.get(), output.id.as_deref()), (value, id), "{json}");
        }
    }
}

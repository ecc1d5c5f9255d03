//! What came of calls: as an event has it, and as the model was shown it.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::CallEnd;
use sortie_recording::fields::{Fields, unquoted};

/// A result as the model was shown it.
pub(super) enum Shown {
    Text(String),
    Json(Box<RawValue>),
}

impl Shown {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) => texts_of(value).join("\n"),
        }
    }

    pub(super) fn into_value(self) -> Box<RawValue> {
        let text = match self {
            Self::Json(value) => return value,
            Self::Text(text) => Value::from(text).to_string(),
        };
        raw(&text).unwrap_or_else(|| RawValue::NULL.to_owned())
    }
}

/// What the model was shown: a text, or blocks. A result of an MCP server may be JSON in a text, or have a line of codex's
/// before it.
pub(super) fn shown_of(output: &RawValue, is_mcp: bool) -> Shown {
    let inner = if is_mcp { unquoted(output) } else { output.to_owned() };
    if let Ok(text) = serde_json::from_str::<String>(inner.get()) {
        let text = match text.split_once("\nOutput:\n") {
            Some((before, rest)) if is_mcp && before.starts_with("Wall time: ") => rest.to_owned(),
            _ => text,
        };
        return Shown::Text(text);
    }
    let Ok(blocks) = serde_json::from_str::<Vec<Value>>(inner.get()) else { return Shown::Json(inner) };
    let is_note = |block: &Value| {
        let text = block["text"].as_str().unwrap_or_default();
        is_mcp && text.starts_with("Wall time: ") && text.trim_end().ends_with("Output:")
    };
    let blocks = blocks.into_iter().filter(|block| !is_note(block)).map(|mut block| {
        if block["type"] == "input_text" {
            block["type"] = "text".into();
        }
        block
    });
    let blocks = Value::from(blocks.collect::<Vec<_>>()).to_string();
    raw(&blocks).map_or_else(|| Shown::Text(blocks), Shown::Json)
}

/// What came of a call, from an event: a result, or one within `Ok` or `Err`.
pub(super) fn end_of(result: &RawValue) -> CallEnd {
    let error =
        Fields::of(result.get()).and_then(|mut fields| fields.take("Err").or_else(|| fields.take("err")));
    error.map_or_else(
        || {
            let (value, is_error) = result_of(result);
            CallEnd::Result { value, is_error }
        },
        failed,
    )
}

/// What came of a call that failed: no result of a server, but an error of codex, `{"message"}` or a text.
pub(super) fn failed(error: &RawValue) -> CallEnd {
    let (value, _) = result_of(error);
    match texts_of(&value).as_slice() {
        [words] if is_refusal(words) => CallEnd::Refused(words.clone()),
        _ => CallEnd::Result { value, is_error: true },
    }
}

/// Whether the words of an error are those in which codex says that it did not make a call. The words of a server stand within
/// others there.
pub(super) fn is_refusal(words: &str) -> bool {
    [
        "user rejected MCP tool call",
        "user cancelled MCP tool call",
        "MCP tool call cancelled before approval",
        "MCP tool call cancelled: interactive approval is unavailable",
        "MCP tool call requires approval",
        "MCP tool call blocked by ",
    ]
    .iter()
    .any(|start| words.starts_with(start))
}

/// Whether a command or a change was declined, and so not made.
pub(super) fn is_declined(item: &mut Fields<'_>) -> bool {
    item.text("status").is_some_and(|status| status.eq_ignore_ascii_case("declined"))
}

/// A result as it was on the wire, and whether it is an error, from an event: as it is, or within `Ok`.
pub(super) fn result_of(result: &RawValue) -> (Box<RawValue>, bool) {
    let Some(mut fields) = Fields::of(result.get()) else { return (result.to_owned(), true) };
    let inner = fields.take("Ok").or_else(|| fields.take("ok"));
    let result = inner.unwrap_or(result);
    let Some(mut fields) = Fields::of(result.get()) else { return (result.to_owned(), false) };
    if fields.peek("content").is_none() {
        let text = fields.text("message").unwrap_or_else(|| result.get().to_owned());
        let value = raw(&json!([{"type": "text", "text": text}]).to_string());
        return (value.unwrap_or_else(|| result.to_owned()), true);
    }
    let is_error = fields.get::<bool>("isError").unwrap_or(false);
    (result.to_owned(), is_error)
}

pub(super) fn raw(json: &str) -> Option<Box<RawValue>> {
    serde_json::from_str(json).ok()
}

/// The texts of a result: blocks, or an object with blocks in `content`.
pub(super) fn texts_of(value: &RawValue) -> Vec<String> {
    let value: Value = serde_json::from_str(value.get()).unwrap_or_default();
    if let Some(text) = value.as_str() {
        return vec![text.to_owned()];
    }
    let blocks = value.as_array().or_else(|| value["content"].as_array());
    let texts = blocks.into_iter().flatten();
    texts.filter_map(|block| Some(block.get("text")?.as_str()?.to_owned())).collect()
}

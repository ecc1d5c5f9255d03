//! What a message of each protocol says.

use serde::Deserialize;
use serde_json::{Map, Value};
use sortie_protocol::ag_ui::{AgentCall, AgentRun};

use super::{ObservedCall, Turn};
use crate::record::Message;

pub(super) fn no_json(error: &serde_json::Error) -> String {
    format!("the answer is not JSON ({error})")
}

/// The result of a JSON-RPC answer, or the error in place of one. A member that is `null` beside the other says nothing.
pub(super) fn answer_of(whole: &Value) -> (Option<&Value>, Option<&Value>) {
    let (result, error) = (whole.get("result"), whole.get("error").filter(|error| !error.is_null()));
    (result.filter(|result| error.is_none() || !result.is_null()), error)
}

pub(super) fn member(value: &Value, name: &str) -> Value {
    value.get(name).cloned().unwrap_or_default()
}

pub(super) fn text_of(value: Option<&Value>, name: &str) -> String {
    value.and_then(|value| value.get(name)?.as_str()).unwrap_or_default().to_owned()
}

/// What is said with the last of the messages that are sent.
pub(super) fn last_message(message: &Message) -> Turn {
    let messages = member(&message.document_json(), "messages");
    Turn::attacker(text_of(messages.as_array().and_then(|messages| messages.last()), "content"))
}

/// What a server says about itself, as checks see it.
pub(super) fn server_of(result: &Value) -> Map<String, Value> {
    let info = &result["serverInfo"];
    let told =
        [("name", &info["name"]), ("version", &info["version"]), ("instructions", &result["instructions"])];
    let told = told.into_iter().filter(|(_, value)| value.is_string());
    told.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

pub(super) fn is_at_work(result: &Value) -> bool {
    result["kind"] == "task" && matches!(result["status"]["state"].as_str(), Some("submitted" | "working"))
}

/// What a message or a task says: its parts, those of its artifacts, and those of its last word.
pub(crate) fn texts_of(result: &Value) -> Vec<String> {
    let artifacts = result["artifacts"].as_array().into_iter().flatten().map(|artifact| &artifact["parts"]);
    let all = [&result["parts"]].into_iter().chain(artifacts).chain([&result["status"]["message"]["parts"]]);
    let mut texts: Vec<String> = Vec::new();
    for part in all.filter_map(Value::as_array).flatten() {
        let text = match (part["text"].as_str(), part.get("data")) {
            (Some(text), _) => text.to_owned(),
            (None, Some(data)) => data.to_string(),
            (None, None) => continue,
        };
        // Agents say the same as an artifact and as their last word.
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// What a message of a chat says: its text, its parts, or why it says nothing.
pub(super) fn chat_text(message: &Value) -> String {
    let parts = message["content"].as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    let text = message["content"].as_str().map_or_else(|| parts.join("\n"), str::to_owned);
    if text.is_empty() { text_of(Some(message), "refusal") } else { text }
}

/// What an AG-UI agent said in a run.
pub(super) fn run_turn(run: &AgentRun) -> Turn {
    let texts: Vec<&str> = run.texts().chain(run.error()).collect();
    let mut turn = Turn::target(texts.join("\n"));
    turn.is_error = run.error().is_some();
    turn.calls = run.calls().map(run_call).collect();
    turn
}

fn run_call(call: AgentCall) -> ObservedCall {
    let arguments = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => arguments,
        _ if call.arguments.is_empty() => Map::new(),
        // What is not an object is evidence too.
        _ => Map::from_iter([("_arguments".to_owned(), Value::String(call.arguments))]),
    };
    let result = Value::String(call.result.unwrap_or_default());
    ObservedCall { name: call.name, arguments, result, is_error: false }
}

/// A call that a model wants. Arguments that are no object are kept under a name of their own: they are evidence too.
pub(super) fn chat_call(wanted: &Value) -> Option<ObservedCall> {
    let function = &wanted["function"];
    let text = function["arguments"].as_str();
    let read =
        text.map_or_else(|| Some(function["arguments"].clone()), |text| serde_json::from_str(text).ok());
    let arguments = match read {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::Null) => Map::new(),
        _ => Map::from_iter([("_arguments".to_owned(), function["arguments"].clone())]),
    };
    let name = function["name"].as_str()?.to_owned();
    Some(ObservedCall { name, arguments, result: "".into(), is_error: false })
}

/// Why a line is not an answer of a program.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("it is not what was agreed ({0})")]
    Malformed(#[from] serde_json::Error),
    #[error("it has neither `text` nor `error`")]
    Empty,
}

/// An answer of the JSON protocol of a program. It may have more members.
pub(super) fn line_answer(line: &str) -> Result<Turn, LineError> {
    #[derive(Deserialize)]
    struct Answer {
        text: Option<String>,
        #[serde(default)]
        calls: Vec<ObservedCall>,
        error: Option<Value>,
    }
    let answer: Answer = serde_json::from_str(line)?;
    let error = answer.error.filter(|error| !error.is_null());
    if answer.text.is_none() && error.is_none() {
        return Err(LineError::Empty);
    }
    let said = error.as_ref().map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
    let mut turn = Turn::target(answer.text.or(said).unwrap_or_default());
    turn.is_error = error.is_some();
    turn.calls = answer.calls;
    Ok(turn)
}

/// How long the name of a session is, which stands for `{{session}}` in the body of a request.
const SESSION_BYTES: usize = "session-0123456789".len();

/// What stands for `{{message}}` in a body that was made from a template: of the first text of the template that has it.
///
/// A text in which redaction has changed the length of what surrounds the message is taken whole.
pub(super) fn said_in(template: &Value, body: &Value) -> Option<String> {
    match (template, body) {
        (Value::String(template), Value::String(text)) if template.contains("{{message}}") => {
            let length = |part: &str| part.replace("{{session}}", &"-".repeat(SESSION_BYTES)).len();
            let parts: Vec<usize> = template.split("{{message}}").map(length).collect();
            let times = parts.len() - 1;
            let around: usize = parts.iter().sum();
            let said = text.len().checked_sub(around).filter(|rest| rest % times == 0);
            let said = said.and_then(|rest| text.get(parts[0]..parts[0] + rest / times));
            Some(said.unwrap_or(text).to_owned())
        }
        (Value::Array(templates), Value::Array(items)) => {
            templates.iter().zip(items).find_map(|(template, item)| said_in(template, item))
        }
        (Value::Object(templates), Value::Object(items)) => {
            templates.iter().find_map(|(key, template)| said_in(template, items.get(key)?))
        }
        _ => None,
    }
}

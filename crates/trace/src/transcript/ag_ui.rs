//! What an AG-UI agent says in one run, put together from its events.

use serde_json::{Map, Value, json};

use super::{ObservedCall, Turn};

/// What an agent has said and called so far in one run.
#[derive(Clone, Debug, Default)]
pub struct AgUiRun {
    /// Texts by the id of their message, in the order in which they began.
    texts: Vec<(String, String)>,
    calls: Vec<AgUiCall>,
    /// The whole conversation as the agent sees it, when it has told.
    snapshot: Option<Vec<Value>>,
    error: Option<String>,
    is_over: bool,
    bytes: usize,
}

#[derive(Clone, Debug, Default)]
struct AgUiCall {
    id: String,
    name: String,
    arguments: String,
    result: Option<String>,
}

impl AgUiRun {
    /// Adds an event of the run.
    pub fn observe(&mut self, event: &Value) {
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        let delta = text("delta").unwrap_or_default();
        self.bytes += delta.len() + 64;
        match text("type").unwrap_or_default().to_ascii_lowercase().as_str() {
            "text_message_start" | "text_message_content" | "text_message_chunk" => {
                if text("role").is_some_and(|role| role != "assistant") {
                    return;
                }
                let last = self.texts.last().map(|(id, _)| id.as_str());
                let id = text("messageId").or(last).unwrap_or("message").to_owned();
                match self.texts.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, text)) => text.push_str(delta),
                    None => self.texts.push((id, delta.to_owned())),
                }
            }
            "tool_call_start" | "tool_call_args" | "tool_call_chunk" => {
                let last = self.calls.last().map(|call| call.id.as_str());
                let Some(id) = text("toolCallId").or(last).map(str::to_owned) else { return };
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
                    call.arguments.push_str(delta);
                } else if let Some(name) = text("toolCallName") {
                    let (name, arguments) = (name.to_owned(), delta.to_owned());
                    self.calls.push(AgUiCall { id, name, arguments, result: None });
                }
            }
            "tool_call_result" => {
                let content = event.get("content").unwrap_or(&Value::Null);
                let result = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
                self.bytes += result.len();
                if let Some(call) =
                    self.calls.iter_mut().find(|call| Some(call.id.as_str()) == text("toolCallId"))
                {
                    call.result = Some(result);
                }
            }
            "messages_snapshot" => {
                self.snapshot = event.get("messages").and_then(Value::as_array).cloned();
            }
            "run_finished" => self.is_over = true,
            "run_error" => {
                self.is_over = true;
                self.error = Some(text("message").unwrap_or("the run failed").to_owned());
            }
            _ => {}
        }
    }

    /// Whether the agent said that the run is over.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What its texts take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds what was said to the messages with which a run began, so that the next one begins with all of them. A
    /// conversation that the agent has told takes their place.
    pub fn continue_from(&self, messages: &mut Vec<Value>) {
        if let Some(snapshot) = &self.snapshot {
            messages.clone_from(snapshot);
            return;
        }
        let mut calls = self.calls.iter().map(AgUiCall::json).collect::<Vec<_>>();
        for (id, text) in &self.texts {
            let mut message = json!({"id": id, "role": "assistant", "content": text});
            // They stand with the first message.
            if !calls.is_empty() {
                message["toolCalls"] = Value::Array(std::mem::take(&mut calls));
            }
            messages.push(message);
        }
        let results = self.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)));
        messages.extend(results.map(|(call, result)| {
            let id = format!("{}-result", call.id);
            json!({"id": id, "role": "tool", "toolCallId": call.id, "content": result})
        }));
    }

    /// What the agent said in the run, as a turn.
    pub fn turn(&self) -> Turn {
        let mut texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        texts.extend(self.error.as_deref());
        let mut turn = Turn::target(texts.join("\n"));
        turn.is_error = self.error.is_some();
        turn.calls = self.calls.iter().map(AgUiCall::observed).collect();
        turn
    }
}

impl AgUiCall {
    fn json(&self) -> Value {
        json!({"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}})
    }

    fn observed(&self) -> ObservedCall {
        let arguments = match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            _ if self.arguments.is_empty() => Map::new(),
            // What is no object is evidence too.
            _ => Map::from_iter([("_arguments".to_owned(), Value::String(self.arguments.clone()))]),
        };
        let result = Value::String(self.result.clone().unwrap_or_default());
        ObservedCall { name: self.name.clone(), arguments, result, is_error: false }
    }
}

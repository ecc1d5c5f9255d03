//! An endpoint that speaks as that of `OpenAI` does: every turn is asked with the whole conversation.
//!
//! The tools that a model wants to call are seen in its answers. Nobody executes them: a model that goes on is told so.

use std::sync::Arc;

use ::http::Method;
use serde_json::{Map, Value, json};
use sortie_trace::{ObservedCall, Turn};
use sortie_wire::http::Client;

use super::error::TargetError;
use super::log::Log;
use super::offer::Offer;
use super::target::Settings;
use super::web::{Web, json};
use crate::modes::Endpoint;

const SURFACE: &str = "chat/completions";
const MODELS: &str = "models";

/// So many models are listed.
const MAX_MODELS: usize = 1_000;

/// A chat endpoint.
#[derive(Clone)]
pub struct Chat {
    /// Its base, such as `http://127.0.0.1:8000/v1`, with the headers that it is asked with.
    pub at: Endpoint,
    /// The model; the first that it lists when there is none.
    pub model: Option<String>,
    /// What the system says before anyone else does.
    pub system: Option<String>,
    /// Tools that the model is told about, as the endpoint wants them.
    pub tools: Vec<Value>,
}

pub(super) async fn discover(chat: &Chat, log: &Arc<Log>, settings: &Settings) -> Result<Offer, TargetError> {
    let web = Web::open(&chat.at, None, log, settings).await?;
    let models = models(&web).await?;
    Ok(Offer { models, ..Offer::default() })
}

/// The models that are listed. An endpoint need not list any.
async fn models(web: &Web) -> Result<Vec<String>, TargetError> {
    let listed = web.ask(Method::GET, &place(web, MODELS), MODELS, None).await;
    let listed = match listed {
        Ok(listed) => json(MODELS, &listed).unwrap_or_default(),
        Err(TargetError::Status { status: 401 | 403, what, body }) => {
            return Err(TargetError::Status { status: 401, what, body });
        }
        Err(TargetError::Status { .. } | TargetError::Protocol { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let models = listed["data"].as_array().into_iter().flatten();
    Ok(models.filter_map(|model| Some(model["id"].as_str()?.to_owned())).take(MAX_MODELS).collect())
}

fn place(web: &Web, path: &str) -> String {
    format!("{}/{path}", web.url.trim_end_matches('/'))
}

pub(super) async fn open(
    chat: &Chat,
    client: Option<&Client>,
    log: &Arc<Log>,
    settings: &Settings,
) -> Result<Talk, TargetError> {
    let web = Web::open(&chat.at, client, log, settings).await?;
    let model = match &chat.model {
        Some(model) => model.clone(),
        None => models(&web).await?.into_iter().next().unwrap_or_else(|| "default".to_owned()),
    };
    let system = chat.system.iter().map(|text| json!({"role": "system", "content": text}));
    Ok(Talk { web, model, messages: system.collect(), tools: chat.tools.clone() })
}

/// A conversation: all that was said so far.
#[derive(Debug)]
pub(super) struct Talk {
    web: Web,
    model: String,
    messages: Vec<Value>,
    tools: Vec<Value>,
}

impl Talk {
    pub(super) async fn say(&mut self, text: &str) -> Result<Turn, TargetError> {
        self.messages.push(json!({"role": "user", "content": text}));
        let mut body = json!({"model": self.model, "messages": self.messages});
        if !self.tools.is_empty() {
            body["tools"] = Value::Array(self.tools.clone());
        }
        let url = place(&self.web, SURFACE);
        let answer = self.web.ask(Method::POST, &url, SURFACE, Some(body.to_string().into())).await?;
        let answer = json(SURFACE, &answer)?;
        let message = &answer["choices"][0]["message"];
        if !message.is_object() {
            return Err(TargetError::protocol(SURFACE, "the answer has no `choices[0].message`"));
        }
        let mut turn = Turn::target(said(message));
        let wanted = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        turn.calls = wanted.iter().filter_map(call).collect();
        let mut kept = message.clone();
        kept["role"] = "assistant".into();
        self.messages.push(kept);
        for call in wanted {
            self.messages.push(
                json!({"role": "tool", "tool_call_id": call["id"], "content": "This tool is not available."}),
            );
        }
        Ok(turn)
    }
}

/// What a message says: its text, its parts, or why it says nothing.
fn said(message: &Value) -> String {
    let parts = message["content"].as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    let text = message["content"].as_str().map_or_else(|| parts.join("\n"), str::to_owned);
    if text.is_empty() { message["refusal"].as_str().unwrap_or_default().to_owned() } else { text }
}

/// A call that a model wants. Arguments that are no object are kept under a name of their own: they are evidence too.
fn call(wanted: &Value) -> Option<ObservedCall> {
    let function = &wanted["function"];
    let text = function["arguments"].as_str();
    let read =
        text.map_or_else(|| Some(function["arguments"].clone()), |text| serde_json::from_str(text).ok());
    let arguments = match read {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::Null) => Map::new(),
        _ => Map::from_iter([("_arguments".to_owned(), function["arguments"].clone())]),
    };
    Some(ObservedCall {
        name: function["name"].as_str()?.to_owned(),
        arguments,
        result: "".into(),
        is_error: false,
    })
}

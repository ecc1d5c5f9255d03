//! An endpoint that speaks as that of `OpenAI` does: every turn is asked with the whole conversation.
//!
//! The tools that a model wants to call are seen in its answers. Nobody executes them: a model that goes on is told so.

use ::http::Method;
use serde_json::{Value, json};
use sortie_trace::Transcriber;
use sortie_wire::http::Client;

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use super::web::{Web, json};
use crate::modes::Endpoint;

const SURFACE: &str = "chat/completions";
const MODELS: &str = "models";

/// A chat endpoint.
#[derive(Clone)]
pub struct ChatTarget {
    /// Its base, such as `http://127.0.0.1:8000/v1`, with the headers that it is asked with.
    pub at: Endpoint,
    /// The model; the first that it lists when there is none.
    pub model: Option<String>,
    /// What the system says before anyone else does.
    pub system: Option<String>,
    /// Tools that the model is told about, as the endpoint wants them.
    pub tools: Vec<Value>,
}

/// Asks for the models. An endpoint need not list any.
pub(super) async fn ask_for_models(web: &Web) -> Result<(), TargetError> {
    match web.ask(Method::GET, &place(web, MODELS), MODELS, None).await {
        Err(TargetError::Status { status: 401 | 403, what, body }) => {
            Err(TargetError::Status { status: 401, what, body })
        }
        Ok(_) | Err(TargetError::Status { .. } | TargetError::Protocol { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn place(web: &Web, path: &str) -> String {
    format!("{}/{path}", web.url.trim_end_matches('/'))
}

pub(super) async fn open(
    chat: &ChatTarget,
    client: Option<&Client>,
    log: &Channel,
    settings: &Settings,
) -> Result<ChatSession, TargetError> {
    let web = Web::open(&chat.at, client, log, settings).await?;
    let model = if let Some(model) = &chat.model {
        model.clone()
    } else {
        ask_for_models(&web).await?;
        let first = |transcriber: &Transcriber| transcriber.models().first().cloned();
        let listed = log.recorder().with_transcriber(first).flatten();
        listed.unwrap_or_else(|| "default".to_owned())
    };
    let system = chat.system.iter().map(|text| json!({"role": "system", "content": text}));
    Ok(ChatSession { web, model, messages: system.collect(), tools: chat.tools.clone() })
}

/// A conversation: all that was said so far.
#[derive(Debug)]
pub(super) struct ChatSession {
    web: Web,
    model: String,
    messages: Vec<Value>,
    tools: Vec<Value>,
}

impl ChatSession {
    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
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
            return Ok(());
        }
        let mut kept = message.clone();
        kept["role"] = "assistant".into();
        self.messages.push(kept);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.messages.push(
                json!({"role": "tool", "tool_call_id": call["id"], "content": "This tool is not available."}),
            );
        }
        Ok(())
    }
}

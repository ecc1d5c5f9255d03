//! An AG-UI agent: every turn is a run of the same thread, with all messages so far.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use sortie_trace::Kind;
use sortie_trace::{ObservedCall, Turn};
use sortie_wire::ag_ui::Event;
use sortie_wire::http::{Answer, Client, EventStream, Response, StreamError};

use super::error::TargetError;
use super::log::{About, Log};
use super::offer::Offer;
use super::target::Settings;
use super::web::{Web, json_headers, session};
use crate::modes::Endpoint;

const RUN: &str = "run_agent_input";

/// There is nothing to ask without a message, but somebody must be there.
pub(super) async fn discover(
    target: &Endpoint,
    log: &Arc<Log>,
    settings: &Settings,
) -> Result<Offer, TargetError> {
    Web::open(target, None, log, settings).await.map(|_| Offer::default())
}

pub(super) async fn open(
    target: &Endpoint,
    client: Option<&Client>,
    log: &Arc<Log>,
    settings: &Settings,
) -> Result<Talk, TargetError> {
    let web = Web::open(target, client, log, settings).await?;
    Ok(Talk { web, thread: session(), messages: Vec::new(), runs: 0 })
}

/// A conversation: all messages so far.
#[derive(Debug)]
pub(super) struct Talk {
    web: Web,
    thread: String,
    messages: Vec<Value>,
    runs: usize,
}

impl Talk {
    pub(super) async fn say(&mut self, text: &str) -> Result<Turn, TargetError> {
        self.runs += 1;
        let number = self.runs;
        self.messages.push(json!({"id": format!("user-{number}"), "role": "user", "content": text}));
        let body = json!({
            "threadId": self.thread, "runId": format!("{}-{number}", self.thread), "state": {}, "messages": self.messages,
            "tools": [], "context": [], "forwardedProps": {},
        });
        let body = body.to_string();
        let connection = format!("run-{number}");
        self.web.log.said(about(RUN, Kind::Request, &connection), body.as_bytes())?;
        let patience = self.web.settings.answer_timeout;
        let heard = tokio::time::timeout(patience, self.run(body.into(), &connection));
        let heard = heard.await.map_err(|_| TargetError::timed_out(RUN, patience))??;
        Ok(self.keep(heard))
    }

    async fn run(&self, body: Bytes, connection: &str) -> Result<Heard, TargetError> {
        let headers = json_headers("text/event-stream", true);
        let response = self.web.client.post(&self.web.url, headers, body).await;
        let response =
            response.map_err(|error| TargetError::of_client(RUN, error, self.web.settings.answer_timeout))?;
        let (status, mut events) = match response {
            Response { status, body: Answer::Events(events), .. } if status.is_success() => (status, events),
            Response { status, body, .. } => {
                let body = if let Answer::Bytes(body) = body { body } else { Bytes::new() };
                if !body.is_empty() {
                    self.web.log.heard(about(RUN, Kind::Error, connection), &body)?;
                }
                if status.is_success() {
                    return Err(TargetError::protocol(RUN, "the answer is no stream of events"));
                }
                return Err(TargetError::status(RUN, status, &body));
            }
        };
        let mut heard = Heard::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.event(&mut heard, &event.data, connection)?,
                // It may be the very event that matters.
                Err(StreamError::TooLong(error)) => return Err(TargetError::TooLong { limit: error.0 }),
                Err(StreamError::Broken(reason)) => {
                    return Err(TargetError::protocol(RUN, format!("the stream broke off: {reason}")));
                }
            }
        }
        self.unfinished(&mut heard, &mut events, connection)?;
        if !heard.is_over {
            let problem = format!(
                "the stream ended (HTTP status {}) without saying that the run is over",
                status.as_u16()
            );
            return Err(TargetError::protocol(RUN, problem));
        }
        Ok(heard)
    }

    /// Agents forget the empty line after their last event.
    fn unfinished(
        &self,
        heard: &mut Heard,
        events: &mut EventStream,
        connection: &str,
    ) -> Result<(), TargetError> {
        match events.decoder().unfinished() {
            Some(event) => self.event(heard, &event.data, connection),
            None => Ok(()),
        }
    }

    fn event(&self, heard: &mut Heard, data: &[u8], connection: &str) -> Result<(), TargetError> {
        if data.is_empty() {
            return Ok(());
        }
        let name = Event::read(data).name.unwrap_or_default();
        let content = self.web.log.heard(about(&name, Kind::Event, connection), data)?;
        let text = content.text();
        heard.take(&Event::read(text.as_bytes()), &serde_json::from_str(&text).unwrap_or_default());
        if heard.size > self.web.settings.limits.message_bytes {
            return Err(TargetError::TooLong { limit: self.web.settings.limits.message_bytes });
        }
        Ok(())
    }

    /// What was heard, as a turn; and as messages that the next run begins with.
    fn keep(&mut self, heard: Heard) -> Turn {
        let calls: Vec<Value> = heard.calls.iter().map(Called::json).collect();
        let mut texts: Vec<String> = heard.texts.iter().map(|(_, text)| text.clone()).collect();
        if let Some(snapshot) = heard.snapshot {
            self.messages = snapshot;
        } else {
            for (at, (id, text)) in heard.texts.into_iter().enumerate() {
                let mut message = json!({"id": id, "role": "assistant", "content": text});
                if at == 0 && !calls.is_empty() {
                    message["toolCalls"] = Value::Array(calls.clone());
                }
                self.messages.push(message);
            }
            let results = heard.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)));
            for (call, result) in results {
                let id = format!("{}-result", call.id);
                self.messages
                    .push(json!({"id": id, "role": "tool", "toolCallId": call.id, "content": result}));
            }
        }
        texts.extend(heard.error.clone());
        let mut turn = Turn::target(texts.join("\n"));
        turn.is_error = heard.error.is_some();
        turn.calls = heard.calls.into_iter().map(Called::observed).collect();
        turn
    }
}

/// What an agent has said and called in one run.
#[derive(Debug, Default)]
struct Heard {
    /// By the id of the message.
    texts: Vec<(String, String)>,
    calls: Vec<Called>,
    snapshot: Option<Vec<Value>>,
    error: Option<String>,
    is_over: bool,
    size: usize,
}

#[derive(Debug, Default)]
struct Called {
    id: String,
    name: String,
    arguments: String,
    result: Option<String>,
}

impl Heard {
    fn take(&mut self, event: &Event, whole: &Value) {
        let delta = event.delta.as_deref().unwrap_or_default();
        self.size += delta.len() + 64;
        match event.name.as_deref().unwrap_or_default() {
            "text_message_start" | "text_message_content" | "text_message_chunk" => {
                if event.role.as_deref().is_some_and(|role| role != "assistant") {
                    return;
                }
                let last = self.texts.last().map(|(id, _)| id.clone());
                let id = event.message_id.clone().or(last).unwrap_or_else(|| "message".to_owned());
                match self.texts.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, text)) => text.push_str(delta),
                    None => self.texts.push((id, delta.to_owned())),
                }
            }
            "tool_call_start" | "tool_call_args" | "tool_call_chunk" => {
                let last = self.calls.last().map(|call| call.id.clone());
                let Some(id) = event.call_id.clone().or(last) else { return };
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
                    call.arguments.push_str(delta);
                } else if let Some(name) = event.call_name.clone() {
                    self.calls.push(Called { id, name, arguments: delta.to_owned(), result: None });
                }
            }
            "tool_call_result" => {
                let result =
                    whole["content"].as_str().map_or_else(|| whole["content"].to_string(), str::to_owned);
                self.size += result.len();
                if let Some(call) =
                    self.calls.iter_mut().find(|call| Some(&call.id) == event.call_id.as_ref())
                {
                    call.result = Some(result);
                }
            }
            "messages_snapshot" => self.snapshot = whole["messages"].as_array().cloned(),
            "run_finished" => self.is_over = true,
            "run_error" => {
                self.is_over = true;
                self.error = Some(whole["message"].as_str().unwrap_or("the run failed").to_owned());
            }
            _ => {}
        }
    }
}

impl Called {
    fn json(&self) -> Value {
        json!({"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}})
    }

    fn observed(self) -> ObservedCall {
        let arguments = match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            _ if self.arguments.is_empty() => Map::new(),
            _ => Map::from_iter([("_arguments".to_owned(), Value::String(self.arguments))]),
        };
        let result = Value::String(self.result.unwrap_or_default());
        ObservedCall { name: self.name, arguments, result, is_error: false }
    }
}

fn about<'a>(surface: &'a str, kind: Kind, connection: &'a str) -> About<'a> {
    About { surface, kind, id: None, connection }
}

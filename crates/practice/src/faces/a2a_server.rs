//! The agent as an A2A agent: it takes messages, and answers with tasks that are done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use sortie_wire::a2a::{CARD_PATHS, code};
use sortie_wire::http::{Body, Hosts, Listener, Peer, RequestBody, read_body};
use sortie_wire::jsonrpc::{self, Incoming};
use sortie_wire::{Limits, sse};

use super::gathered::texts;
use crate::acting::Task;
use crate::agent::Agent;

/// How many tasks are remembered.
const MAX_TASKS: usize = 100;

/// Serves until the agent ends.
pub(crate) async fn serve(listener: Listener, agent: Agent) {
    let limits = Limits::default();
    let url = format!("http://{}/", listener.address());
    let stop = agent.stop.clone();
    let face =
        Arc::new(Face { agent, url, hosts: Hosts::loopback_plus([""; 0]), tasks: Mutex::default(), limits });
    let handler = move |request: Request<RequestBody>, _: Peer| {
        let face = face.clone();
        async move { face.answer(request).await }
    };
    listener.serve(handler, limits, stop).await;
}

struct Face {
    agent: Agent,
    url: String,
    hosts: Hosts,
    tasks: Mutex<BTreeMap<usize, Value>>,
    limits: Limits,
}

impl Face {
    async fn answer(self: &Arc<Self>, request: Request<RequestBody>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err(foreign) = self.hosts.check(&head.headers) {
            return respond(foreign.status(), "text/plain", foreign.to_string().into());
        }
        self.agent.activity.stir();
        if head.method == Method::GET && CARD_PATHS.iter().any(|path| head.uri.path().ends_with(path)) {
            return respond(StatusCode::OK, "application/json", self.card().to_string().into());
        }
        if head.method != Method::POST {
            return respond(StatusCode::METHOD_NOT_ALLOWED, "text/plain", Bytes::new());
        }
        let body = match read_body(body, &self.limits).await {
            Ok(body) => body,
            Err(error) => return respond(error.status(), "text/plain", error.to_string().into()),
        };
        let (id, method, params) = match jsonrpc::read(&body, &self.limits) {
            Ok(Incoming::Request { id, method, params }) => (id, method, params),
            Ok(_) => return respond(StatusCode::ACCEPTED, "application/json", Bytes::new()),
            Err(malformed) => return respond(StatusCode::OK, "application/json", malformed.answer()),
        };
        let params: Value =
            params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
        // A task goes on when whoever asked for it hangs up.
        let (this, id) = (self.clone(), id.get().to_owned());
        let done = tokio::spawn(async move { this.method(&id, &method, &params).await }).await;
        done.unwrap_or_else(|_| respond(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", Bytes::new()))
    }

    async fn method(&self, id: &str, method: &str, params: &Value) -> Response<Body> {
        let fault = |code: i64, words: &str| json_rpc(jsonrpc::error(Some(id), code, words, None));
        match method {
            "message/send" | "message/stream" => {
                let Some(task) = self.task(params).await else {
                    return respond(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", Bytes::new());
                };
                if method == "message/send" {
                    json_rpc(jsonrpc::result(id, &task.to_string()))
                } else {
                    stream(id, &task)
                }
            }
            "tasks/get" => match self.known(params) {
                Some(task) => json_rpc(jsonrpc::result(id, &task.to_string())),
                None => fault(code::TASK_NOT_FOUND, "there is no such task"),
            },
            "tasks/cancel" => match self.known(params) {
                Some(_) => fault(code::TASK_NOT_CANCELABLE, "the task is done"),
                None => fault(code::TASK_NOT_FOUND, "there is no such task"),
            },
            "agent/getAuthenticatedExtendedCard" => json_rpc(jsonrpc::result(id, &self.card().to_string())),
            _ => fault(code::METHOD_NOT_FOUND, "there is no such method"),
        }
    }

    /// Does a task. `None` when the agent dies over it.
    async fn task(&self, params: &Value) -> Option<Value> {
        let busy = self.agent.activity.busy();
        let message = params.get("message").cloned().unwrap_or(Value::Null);
        let parts = message.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
        let words: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        let mut task = Task { words: words.join("\n"), ..Task::default() };
        for part in parts.iter().filter(|part| part.get("text").is_none()) {
            task.background.push(("data of the message".to_owned(), texts(part)));
        }
        for (value, name) in [
            (message.get("metadata"), "metadata of the message"),
            (params.get("metadata"), "metadata of the request"),
        ] {
            task.background.extend(
                value.map(|value| (name.to_owned(), texts(value))).filter(|(_, words)| !words.is_empty()),
            );
        }
        let mut hands = self.agent.surroundings.hands(None);
        let Ok(answer) = self.agent.turn(&mut hands, &task).await else {
            self.agent.crash();
            return None;
        };
        drop(busy);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let number = tasks.keys().next_back().map_or(1, |last| last + 1);
        let context =
            message.get("contextId").cloned().unwrap_or_else(|| Value::from(format!("context-{number}")));
        let artifacts: Vec<Value> = answer
            .map(|text| json!({"artifactId": format!("answer-{number}"), "name": "answer", "parts": [{"kind": "text", "text": text}]}))
            .into_iter()
            .collect();
        let done = json!({"kind": "task", "id": format!("task-{number}"), "contextId": context,
            "status": {"state": "completed"}, "artifacts": artifacts, "history": [message]});
        tasks.insert(number, done.clone());
        if tasks.len() > MAX_TASKS {
            tasks.pop_first();
        }
        Some(done)
    }

    fn known(&self, params: &Value) -> Option<Value> {
        let number: usize = params.get("id")?.as_str()?.strip_prefix("task-")?.parse().ok()?;
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    fn card(&self) -> Value {
        json!({
            "protocolVersion": "0.3.0", "name": format!("Practice agent {}", self.agent.behaviour), "url": self.url,
            "description": "A practice target of Sortie. There is no model inside.", "version": env!("CARGO_PKG_VERSION"),
            "preferredTransport": "JSONRPC", "capabilities": {"streaming": true, "pushNotifications": false},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "task", "name": "Task", "description": "Does what it is asked, with the tools it has.", "tags": ["practice"]}],
        })
    }
}

/// A task that is done, as the events that led there.
fn stream(id: &str, task: &Value) -> Response<Body> {
    let ids = json!({"taskId": task["id"], "contextId": task["contextId"]});
    let event = |mut event: Value| {
        if let (Value::Object(event), Value::Object(ids)) = (&mut event, &ids) {
            event.extend(ids.clone());
        }
        event
    };
    let mut begun = task.clone();
    begun["status"] = json!({"state": "working"});
    begun["artifacts"] = json!([]);
    let mut events = vec![begun];
    for artifact in task["artifacts"].as_array().into_iter().flatten() {
        events.push(event(
            json!({"kind": "artifact-update", "artifact": artifact, "append": false, "lastChunk": true}),
        ));
    }
    events.push(event(json!({"kind": "status-update", "status": task["status"], "final": true})));
    let mut body = BytesMut::new();
    for event in events {
        body.extend_from_slice(&sse::encode(None, None, &jsonrpc::result(id, &event.to_string())));
    }
    respond(StatusCode::OK, "text/event-stream", body.freeze())
}

fn json_rpc(answer: Bytes) -> Response<Body> {
    respond(StatusCode::OK, "application/json", answer)
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

//! An agent that speaks MCP over HTTP, as far as a test wants.

use std::future::Future;

use http::{HeaderMap, HeaderName, Method, StatusCode};
use serde_json::{Value, json};
use sortie_engine::modes::Serving;
use sortie_engine::modes::mcp_server::start;
use sortie_engine::run::RunOptions;
use sortie_wire::http::{Answer, Client, ClientOptions, EventStream, Response};
use sortie_wire::sse::Event;

use crate::server_stage::{DEADLINE, Stage};

pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// Someone who talks to a server.
pub(crate) struct Agent {
    client: Client,
    pub(crate) url: String,
    /// Sent with every request.
    pub(crate) headers: Vec<(String, String)>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The messages, in order, without events that have no data.
    pub(crate) messages: Vec<String>,
    pub(crate) is_stream: bool,
}

impl Got {
    /// The last message: the answer.
    pub(crate) fn answer(&self) -> Value {
        let last = self.messages.last().unwrap_or_else(|| panic!("no answer: {self:?}"));
        serde_json::from_str(last).unwrap_or_else(|_| panic!("no JSON: {last}"))
    }

    pub(crate) fn result(&self) -> Value {
        let answer = self.answer();
        answer.get("result").unwrap_or_else(|| panic!("no result: {answer}")).clone()
    }

    pub(crate) fn code(&self) -> i64 {
        self.answer()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}

pub(crate) async fn serve(execution: &str) -> (Stage, Serving) {
    serve_with(execution, RunOptions::default()).await
}

pub(crate) async fn serve_with(execution: &str, options: RunOptions) -> (Stage, Serving) {
    let stage = Stage::new(execution);
    let serving = start(stage.actor.clone(), options).await.unwrap();
    (stage, serving)
}

/// What comes of it, before the deadline.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("nothing happened in time")
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

pub(crate) fn named(name: &str) -> Value {
    json!({"name": name})
}

impl Agent {
    /// Someone without a session.
    pub(crate) fn new(serving: &Serving) -> Self {
        let client = Client::new(ClientOptions::default()).unwrap();
        let headers = vec![("accept".to_owned(), BOTH.to_owned())];
        Self { client, url: serving.url.clone(), headers }
    }

    /// Someone with a session.
    pub(crate) async fn connected(serving: &Serving) -> Self {
        Self::offering(serving, "2025-11-25", &json!({"elicitation": {}, "sampling": {}})).await
    }

    pub(crate) async fn offering(serving: &Serving, version: &str, capabilities: &Value) -> Self {
        let mut agent = Self::new(serving);
        let params = json!({
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "agent", "version": "1"},
        });
        let got = agent.ask("initialize", params).await;
        assert_eq!(got.status, StatusCode::OK, "{got:?}");
        let session = got.headers["mcp-session-id"].to_str().unwrap().to_owned();
        agent.headers.push(("mcp-session-id".to_owned(), session));
        agent.notify("notifications/initialized", json!({})).await;
        agent
    }

    pub(crate) fn session(&self) -> &str {
        &self.headers.iter().find(|(name, _)| name == "mcp-session-id").expect("a session").1
    }

    /// The same with another header.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let kept = self.headers.iter().filter(|(known, _)| known != name).cloned();
        let headers = kept.chain([(name.to_owned(), value.to_owned())]).collect();
        Self { client: self.client.clone(), url: self.url.clone(), headers }
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Got {
        self.post(&request(7, method, &params)).await
    }

    pub(crate) async fn call(&self, tool: &str) -> Value {
        self.ask("tools/call", named(tool)).await.result()
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let got = self.post(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
        assert_eq!((got.status, got.messages.len()), (StatusCode::ACCEPTED, 0), "{got:?}");
    }

    /// Answers a question of the server.
    pub(crate) async fn answer(&self, id: &Value, result: Value) {
        let got = self.post(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()).await;
        assert_eq!(got.status, StatusCode::ACCEPTED, "{got:?}");
    }

    pub(crate) async fn post(&self, body: &str) -> Got {
        self.send(Method::POST, Some(body)).await
    }

    pub(crate) async fn send(&self, method: Method, body: Option<&str>) -> Got {
        let response = self.open(method, body).await;
        let (status, headers) = (response.status, response.headers);
        let mut got = Got { status, headers, messages: Vec::new(), is_stream: false };
        match response.body {
            Answer::Bytes(bytes) if bytes.is_empty() => {}
            Answer::Bytes(bytes) => got.messages.push(String::from_utf8(bytes.to_vec()).unwrap()),
            Answer::Events(mut events) => {
                got.is_stream = true;
                while let Some(event) = within(events.next()).await {
                    let data = event.unwrap().data;
                    if !data.is_empty() {
                        got.messages.push(String::from_utf8(data.to_vec()).unwrap());
                    }
                }
            }
        }
        got
    }

    /// Asks, and reads the events itself.
    pub(crate) async fn stream(&self, method: Method, body: Option<&str>) -> Events {
        let response = self.open(method, body).await;
        match response.body {
            Answer::Events(stream) => Events { stream, last: None },
            Answer::Bytes(bytes) => panic!("no stream: {} {bytes:?}", response.status),
        }
    }

    /// Opens a stream on which the server says what nobody asked for.
    pub(crate) async fn listen(&self) -> Events {
        self.stream(Method::GET, None).await
    }

    /// What is said to a request whose answer nobody reads.
    pub(crate) async fn status(&self, method: Method) -> StatusCode {
        self.open(method, None).await.status
    }

    async fn open(&self, method: Method, body: Option<&str>) -> Response {
        let headers: HeaderMap = self
            .headers
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect();
        let body = body.map(|body| body.to_owned().into());
        within(self.client.send(method, &self.url, headers, body)).await.unwrap()
    }
}

/// Events that are read one by one.
pub(crate) struct Events {
    stream: Box<EventStream>,
    /// The id of the last event that had one.
    pub(crate) last: Option<String>,
}

impl Events {
    /// The next event, whatever it holds.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        let event = within(self.stream.next()).await?.unwrap();
        self.last = event.id.clone().or(self.last.take());
        Some(event)
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let event = self.event().await.expect("the stream ended");
            if !event.data.is_empty() {
                return serde_json::from_slice(&event.data).unwrap();
            }
        }
    }
}

//! A server that the agent uses.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderMap;
use serde_json::{Value, json};
use sortie_wire::http::{Client, ClientError, ClientOptions};
use sortie_wire::jsonrpc::{Incoming, Kind};
use sortie_wire::mcp::McpRevision;
use sortie_wire::mcp::client::{
    self, AskError, ClientIdentity, ClientReply, Connection, Handler, HandshakeError, Patience, Received,
    RpcAnswer, SessionMessage,
};
use sortie_wire::stdio::{Child, SpawnError};
use sortie_wire::{Address, Limits};
use thiserror::Error;
use url::Url;

use super::texts;
use crate::acting::{Answer, Offered, Offers, PATIENCE, Shared};
use crate::behaviour::Behaviour;
use crate::callable::Place;
use crate::reading::Source;

const MAX_PAGES: usize = 20;
const MAX_FETCHED: usize = 16;
const MAX_SCHEMA_DEPTH: usize = 16;
const INTERNAL_ERROR: i64 = -32603;
const FAREWELL: Duration = Duration::from_millis(500);

/// Why a server cannot be used.
#[derive(Debug, Error)]
#[error(transparent)]
pub(super) enum OpenError {
    Client(#[from] ClientError),
    Spawn(#[from] SpawnError),
    Handshake(#[from] HandshakeError),
}

/// Why a server gave no result.
#[derive(Debug, Error)]
enum NoResult {
    /// It answered with this error.
    #[error("{}", if .0.get("message").is_some() { texts(.0) } else { .0.to_string() })]
    Refused(Value),
    #[error(transparent)]
    Unanswered(#[from] AskError),
}

#[derive(Debug)]
pub(super) struct Session {
    wire: client::Session<Owner>,
    /// What the server said of itself when they agreed.
    welcome: Value,
    /// What each of [`LISTS`] held last.
    listed: [Vec<Value>; LISTS.len()],
    /// Addresses that were fetched.
    fetched: Vec<String>,
}

/// What a server lists beside its tools: the capability, the method, the key of the list, that of its items' names, and what
/// they are.
const LISTS: [[&str; 5]; 3] = [
    ["resources", "resources/list", "resources", "uri", "resource"],
    ["resources", "resources/templates/list", "resourceTemplates", "uriTemplate", "resource"],
    ["prompts", "prompts/list", "prompts", "name", "prompt"],
];

impl Session {
    /// Connects and agrees on a revision.
    pub(super) async fn open(server: &Address, name: &str, mind: &Shared) -> Result<Self, OpenError> {
        let limits = Limits::default();
        let connection = match server {
            Address::Url(url) => {
                let options = ClientOptions { answer_timeout: PATIENCE, ..ClientOptions::default() };
                Connection::http(Client::new(options)?, url, limits)
            }
            Address::Stdio(argv) => {
                let env = ["PATH", "HOME", "LANG", "TMPDIR"];
                let env = env.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
                let argv: Vec<_> = argv.iter().map(OsString::from).collect();
                Connection::stdio(Child::spawn(&argv, &env.collect::<Vec<_>>())?, limits)
            }
        };
        let owner = Owner { name: name.to_owned(), mind: mind.clone(), changed: AtomicBool::new(true) };
        let wire = client::Session::new(connection, owner, Patience::Total(PATIENCE));
        let identity = ClientIdentity {
            client_info: json!({"name": "sortie-practice", "version": env!("CARGO_PKG_VERSION")}).to_string(),
            capabilities: json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
                .to_string(),
        };
        let welcome = wire.handshake(&(), &McpRevision::Auto, identity).await?.result;
        Ok(Self { wire, welcome, listed: Default::default(), fetched: Vec::new() })
    }

    /// Asks, and waits for the answer.
    async fn request(&self, method: &str, params: Option<Value>) -> Result<Value, NoResult> {
        let params = params.map(|params| params.to_string());
        match self.wire.ask_with_input(&(), method, params.as_deref()).await? {
            RpcAnswer::Result(result) => Ok(result),
            RpcAnswer::Error(error) => Err(NoResult::Refused(error)),
        }
    }

    async fn list(&self, method: &str, key: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor: Option<Value> = None;
        for _ in 0..MAX_PAGES {
            let params = cursor.map(|cursor| json!({"cursor": cursor}));
            let Ok(page) = self.request(method, params).await else { break };
            all.extend(page[key].as_array().into_iter().flatten().cloned());
            cursor = page.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
            if cursor.is_none() {
                break;
            }
        }
        all
    }

    /// What the server offers now. Tools are listed every time, the rest when it has changed.
    pub(super) async fn look(&mut self, index: usize, offers: &mut Offers) {
        if let Some(instructions) = self.welcome["instructions"].as_str() {
            let source = Source::describing(format!("instructions of {}", self.wire.handler().name), None);
            offers.texts.push((source, instructions.to_owned()));
        }
        // Like most clients, it asks for tools even where a server forgot to say that it has some.
        for tool in &self.list("tools/list", "tools").await {
            self.fetch_schemas(tool).await;
            offers.add_tool(tool, Place::Server(index));
        }
        if self.wire.handler().changed.swap(false, Ordering::Relaxed) {
            for (at, [capability, method, key, ..]) in LISTS.into_iter().enumerate() {
                if self.welcome["capabilities"].get(capability).is_some() {
                    self.listed[at] = self.list(method, key).await;
                }
            }
        }
        for ([.., key, kind], listed) in LISTS.into_iter().zip(&self.listed) {
            for value in listed {
                let Some(name) = value[key].as_str().map(str::to_owned) else { continue };
                let words = ["name", "title", "description"].iter();
                let words: Vec<&str> = words.filter_map(|key| value.get(key)?.as_str()).collect();
                let source = Source::describing(format!("description of {kind} {name}"), None);
                offers.texts.push((source, words[1.min(words.len())..].join("\n")));
                let arguments = value["arguments"].as_array().into_iter().flatten();
                let arguments = arguments.filter_map(|one| Some(one.get("name")?.as_str()?.to_owned()));
                let (description, arguments) = (words.join(" "), arguments.collect());
                let offered = Offered { server: index, name, description, arguments };
                match key {
                    "uri" => offers.resources.push(offered),
                    "name" => offers.prompts.push(offered),
                    _ => {}
                }
            }
        }
    }

    /// Fetches what the schema of a tool refers to, as those do who do what they are told. Only from this machine: agents here do
    /// not leave it.
    async fn fetch_schemas(&mut self, tool: &Value) {
        let mut found = Vec::new();
        remote_references(&tool["inputSchema"], 0, &mut found);
        for url in found {
            let is_local = Url::parse(&url).is_ok_and(|url| url.host_str() == Some("127.0.0.1"));
            if !is_local || self.fetched.contains(&url) || self.fetched.len() >= MAX_FETCHED {
                continue;
            }
            let source = format!("schema of {}", tool["name"].as_str().unwrap_or_default());
            if self.wire.handler().mind.with(|mind| mind.follows(&url, source)) {
                // What is there does not matter: to ask for it is what it was told.
                if let Ok(client) =
                    Client::new(ClientOptions { answer_timeout: PATIENCE, ..ClientOptions::default() })
                {
                    let _ = client.get(&url, HeaderMap::new()).await;
                }
                self.fetched.push(url);
            }
        }
    }

    pub(super) async fn answer(&self, method: &str, params: Value) -> Answer {
        match self.request(method, Some(params)).await {
            Ok(result) => {
                Answer { failed: result["isError"].as_bool().unwrap_or(false), text: texts(&result) }
            }
            Err(why) => Answer { text: why.to_string(), failed: true },
        }
    }

    pub(super) async fn close(&self) {
        self.wire.close(FAREWELL).await;
    }
}

/// The addresses that a schema refers to.
fn remote_references(schema: &Value, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_SCHEMA_DEPTH || found.len() >= MAX_FETCHED {
        return;
    }
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            found.extend(reference.filter(|url| url.starts_with("http")).map(str::to_owned));
            members.values().for_each(|value| remote_references(value, depth + 1, found));
        }
        Value::Array(items) => items.iter().for_each(|item| remote_references(item, depth + 1, found)),
        _ => {}
    }
}

/// An agent that uses a server: it reads what it is told, and answers as its behaviour says.
#[derive(Debug)]
struct Owner {
    name: String,
    mind: Shared,
    /// Something else than the tools has changed.
    changed: AtomicBool,
}

impl Handler for Owner {
    type Context = ();
    type Guard = ();

    fn said(&self, (): &(), _: SessionMessage<'_>) {}

    fn heard(&self, _: Option<&()>, message: SessionMessage<'_>) -> Received<(), ()> {
        let body = message.incoming.and_then(Incoming::body);
        let content = body.and_then(|body| serde_json::from_str(body.get()).ok()).unwrap_or(Value::Null);
        if message.kind == Kind::Notification {
            self.told(message.method, &content);
        }
        Received { context: (), content, guard: () }
    }

    fn answer(&self, (): &(), method: &str, params: &Value) -> Option<ClientReply> {
        let takes_model = ["sampling/createMessage", "elicitation/create"].contains(&method);
        if takes_model && self.mind.with(|mind| mind.behaviour) == Behaviour::Errors {
            let message = "the model cannot be reached".to_owned();
            return Some(ClientReply::Error { code: INTERNAL_ERROR, message });
        }
        let result = match method {
            "ping" => json!({}),
            "roots/list" => json!({"roots": []}),
            "sampling/createMessage" => {
                let words = [params.get("systemPrompt"), params.get("messages")];
                let words: Vec<String> = words.into_iter().flatten().map(texts).collect();
                let text = self.mind.with(|mind| mind.sampled(&self.name, &words.join("\n")))?;
                json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "none", "stopReason": "endTurn"})
            }
            "elicitation/create" => {
                let message = params["message"].as_str().unwrap_or_default();
                self.mind.with(|mind| match params["mode"].as_str() {
                    Some("url") => Some(mind.sent_to(&self.name, message, &params["url"])),
                    _ => mind.elicited(&self.name, message, &params["requestedSchema"]),
                })?
            }
            _ => return Some(ClientReply::method_not_found()),
        };
        Some(ClientReply::Result(result.to_string()))
    }
}

impl Owner {
    fn told(&self, method: &str, params: &Value) {
        match method {
            "notifications/resources/list_changed" | "notifications/prompts/list_changed" => {
                self.changed.store(true, Ordering::Relaxed);
            }
            "notifications/message" | "notifications/progress" => {
                let source = Source::of(format!("notification of {}", self.name));
                self.mind.with(|mind| mind.hand_in(source, texts(params)));
            }
            _ => {}
        }
    }
}

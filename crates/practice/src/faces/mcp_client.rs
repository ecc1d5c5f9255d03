//! A server that the agent uses.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sortie_wire::http::{Client, ClientError, ClientOptions};
use sortie_wire::jsonrpc::{Incoming, Kind};
use sortie_wire::mcp::McpRevision;
use sortie_wire::mcp::client::{
    self, ClientIdentity, ClientReply, Connection, Handler, HandshakeError, Patience, Received, RpcAnswer,
    SessionMessage,
};
use sortie_wire::stdio::{Child, ChildCommand, SpawnError};
use sortie_wire::{Address, Limits};
use thiserror::Error;

use super::gathered::texts;
use crate::acting::{Answer, Filled, Offered, Offers, PATIENCE, Shared};
use crate::callable::{Callable, Place};
use crate::log::Because;
use crate::reading::Source;

const MAX_PAGES: usize = 20;
const FAREWELL: Duration = Duration::from_millis(500);

/// Why a server cannot be used.
#[derive(Debug, Error)]
#[error(transparent)]
pub(super) enum OpenError {
    Client(#[from] ClientError),
    Spawn(#[from] SpawnError),
    Handshake(#[from] HandshakeError),
}

#[derive(Debug)]
pub(super) struct Session {
    wire: client::Session<Owner>,
    instructions: Option<String>,
    capabilities: Value,
    resources: Vec<Value>,
    templates: Vec<Value>,
    prompts: Vec<Value>,
}

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
                let argv = argv.iter().map(OsString::from).collect();
                let command = ChildCommand { argv, env: env.collect(), cwd: None };
                Connection::stdio(Child::spawn(&command)?, limits)
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
        Ok(Self {
            wire,
            instructions: welcome["instructions"].as_str().map(str::to_owned),
            capabilities: welcome["capabilities"].clone(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
        })
    }

    /// Asks, and waits for the answer. What is no result is words.
    async fn request(&self, method: &str, params: Option<Value>) -> Result<Value, String> {
        let params = params.map(|params| params.to_string());
        match self.wire.ask_with_input(&(), method, params.as_deref()).await {
            Ok(RpcAnswer::Result(result)) => Ok(result),
            Ok(RpcAnswer::Error(error)) if error.get("message").is_some() => Err(texts(&error)),
            Ok(RpcAnswer::Error(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
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

    fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// What the server offers now. Tools are listed every time, the rest when it has changed.
    pub(super) async fn look(&mut self, index: usize, offers: &mut Offers) {
        if let Some(instructions) = &self.instructions {
            let source = Source::describing(format!("instructions of {}", self.wire.handler().name), None);
            offers.texts.push((source, instructions.clone()));
        }
        // Like most clients, it asks for tools even where a server forgot to say that it has some.
        for tool in &self.list("tools/list", "tools").await {
            offers.add_tool(tool, Place::Server(index));
        }
        if self.wire.handler().changed.swap(false, Ordering::Relaxed) {
            if self.offers("resources") {
                self.resources = self.list("resources/list", "resources").await;
                self.templates = self.list("resources/templates/list", "resourceTemplates").await;
            }
            if self.offers("prompts") {
                self.prompts = self.list("prompts/list", "prompts").await;
            }
        }
        for (listed, key, kind) in [
            (&self.resources, "uri", "resource"),
            (&self.templates, "uriTemplate", "resource"),
            (&self.prompts, "name", "prompt"),
        ] {
            for value in listed {
                let Some(name) = value[key].as_str() else { continue };
                let words: Vec<&str> = ["name", "title", "description"]
                    .iter()
                    .filter_map(|key| value.get(key)?.as_str())
                    .collect();
                let source = Source::describing(format!("description of {kind} {name}"), None);
                offers.texts.push((source, words[1.min(words.len())..].join("\n")));
                let arguments = value["arguments"].as_array().into_iter().flatten();
                let arguments = arguments
                    .filter_map(|argument| Some(argument.get("name")?.as_str()?.to_owned()))
                    .collect();
                let offered =
                    Offered { server: index, name: name.to_owned(), description: words.join(" "), arguments };
                match key {
                    "uri" => offers.resources.push(offered),
                    "name" => offers.prompts.push(offered),
                    _ => {}
                }
            }
        }
    }

    pub(super) async fn call(&self, callable: &Callable, arguments: &Map<String, Value>) -> Answer {
        self.answer("tools/call", json!({"name": callable.name, "arguments": arguments})).await
    }

    pub(super) async fn read(&self, uri: &str) -> Answer {
        self.answer("resources/read", json!({"uri": uri})).await
    }

    pub(super) async fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Answer {
        self.answer("prompts/get", json!({"name": name, "arguments": arguments})).await
    }

    async fn answer(&self, method: &str, params: Value) -> Answer {
        match self.request(method, Some(params)).await {
            Ok(result) => {
                Answer { failed: result["isError"].as_bool().unwrap_or(false), text: texts(&result) }
            }
            Err(text) => Answer { text, failed: true },
        }
    }

    pub(super) async fn close(&self) {
        self.wire.close(FAREWELL).await;
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
                let schema = params["requestedSchema"].clone();
                if params["mode"].as_str() == Some("url") {
                    return Some(ClientReply::Result(self.url(params, message).to_string()));
                }
                match self.mind.with(|mind| mind.elicited(&self.name, message, &schema))? {
                    Filled::With(values) => json!({"action": "accept", "content": values}),
                    Filled::Declined => json!({"action": "decline"}),
                }
            }
            _ => return Some(ClientReply::method_not_found()),
        };
        Some(ClientReply::Result(result.to_string()))
    }
}

impl Owner {
    /// A page to visit is agreed to and never visited: agents here do not leave the machine.
    fn url(&self, params: &Value, message: &str) -> Value {
        self.mind.with(|mind| {
            let url = params["url"].clone();
            if mind.behaviour.obeys() {
                let source = format!("elicitation of {}", self.name);
                let because = Because::Told { text: message.to_owned(), source };
                mind.log.did("elicitation/accept", json!({"message": message, "url": url}), &because);
                return json!({"action": "accept"});
            }
            mind.log.did("elicitation/decline", json!({"message": message, "url": url}), &Because::Habit);
            json!({"action": "decline"})
        })
    }

    fn told(&self, method: &str, params: &Value) {
        match method {
            "notifications/resources/list_changed" | "notifications/prompts/list_changed" => {
                self.changed.store(true, Ordering::Relaxed);
            }
            "notifications/message" | "notifications/progress" => {
                let words = texts(params);
                self.mind
                    .with(|mind| mind.hand_in(Source::of(format!("notification of {}", self.name)), words));
            }
            _ => {}
        }
    }
}

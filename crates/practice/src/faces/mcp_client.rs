//! A server that the agent uses.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sortie_wire::Limits;
use sortie_wire::http::{Client, ClientOptions};
use sortie_wire::jsonrpc::{self, Ids, Incoming, id_key};
use sortie_wire::mcp::client::{Ended, Happened, Link, Outgoing};
use sortie_wire::mcp::revision;
use sortie_wire::stdio::{Child, Program};
use tokio::sync::{mpsc, oneshot};

use super::gathered::texts;
use crate::acting::{Answer, Filled, Offered, Offers, PATIENCE, Shared};
use crate::agent::McpServer;
use crate::callable::{Callable, Place};
use crate::log::Because;
use crate::reading::Source;

/// How many pages of a list are read.
const MAX_PAGES: usize = 20;
/// How long hanging up may take.
const FAREWELL: Duration = Duration::from_millis(500);

/// A session with a server.
#[derive(Debug)]
pub(super) struct Session {
    name: String,
    link: Link,
    shared: Arc<Waiting>,
    instructions: Option<String>,
    capabilities: Value,
    resources: Vec<Value>,
    templates: Vec<Value>,
    prompts: Vec<Value>,
}

/// What the one that listens and those that ask share.
#[derive(Debug)]
struct Waiting {
    ids: Ids,
    asked: Mutex<HashMap<String, oneshot::Sender<Result<Value, String>>>>,
    /// Something else than the tools has changed.
    changed: AtomicBool,
    gone: AtomicBool,
}

impl Session {
    /// Connects and agrees on a revision.
    pub(super) async fn open(server: &McpServer, name: &str, mind: &Shared) -> Result<Self, String> {
        let limits = Limits::default();
        let (link, happened) = match server {
            McpServer::Http(url) => {
                let options = ClientOptions { answer_timeout: PATIENCE, ..ClientOptions::default() };
                Link::http(Client::new(options).map_err(|error| error.to_string())?, url)
            }
            McpServer::Stdio(argv) => {
                let env = ["PATH", "HOME", "LANG", "TMPDIR"];
                let env = env.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
                let program = Program {
                    argv: argv.iter().map(OsString::from).collect(),
                    env: env.collect(),
                    cwd: None,
                };
                Link::stdio(Child::spawn(&program).map_err(|error| error.to_string())?, limits)
            }
        };
        let shared = Arc::new(Waiting {
            ids: Ids::new(),
            asked: Mutex::default(),
            changed: AtomicBool::new(true),
            gone: AtomicBool::new(false),
        });
        let listener = Listener {
            name: name.to_owned(),
            link: link.clone(),
            shared: shared.clone(),
            mind: mind.clone(),
            limits,
        };
        tokio::spawn(listener.run(happened));
        let mut session = Self {
            name: name.to_owned(),
            link,
            shared,
            instructions: None,
            capabilities: Value::Null,
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
        };
        session.shake_hands().await?;
        Ok(session)
    }

    async fn shake_hands(&mut self) -> Result<(), String> {
        let hello = json!({
            "protocolVersion": revision::LATEST,
            "capabilities": {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
            "clientInfo": {"name": "sortie-practice", "version": env!("CARGO_PKG_VERSION")},
        });
        let welcome = match self.request("initialize", Some(hello.clone())).await {
            Err(refused) if refused.contains("HTTP status 4") && self.link.fall_back().await => {
                self.request("initialize", Some(hello)).await?
            }
            other => other?,
        };
        let version = welcome.get("protocolVersion").and_then(Value::as_str).unwrap_or(revision::LATEST);
        self.link.agree_on(version);
        self.instructions = welcome.get("instructions").and_then(Value::as_str).map(str::to_owned);
        self.capabilities = welcome.get("capabilities").cloned().unwrap_or(Value::Null);
        let told = jsonrpc::notification("notifications/initialized", None);
        self.link.tell(Outgoing::plain(told)).await.map_err(|error| error.to_string())?;
        self.link.listen().await;
        Ok(())
    }

    /// Asks, and waits for the answer.
    async fn request(&self, method: &str, params: Option<Value>) -> Result<Value, String> {
        if self.shared.gone.load(Ordering::Relaxed) {
            return Err("the server has gone".to_owned());
        }
        let id = self.shared.ids.fresh();
        let (sender, receiver) = oneshot::channel();
        self.shared.asked().insert(id.clone(), sender);
        let params = params.map(|params| params.to_string());
        let message = jsonrpc::request(&id, method, params.as_deref());
        let exchange = self.link.request(id_of(&id), Outgoing::plain(message));
        let answer = tokio::time::timeout(PATIENCE, receiver).await;
        self.shared.asked().remove(&id);
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err("the server has gone".to_owned()),
            Err(_) => {
                exchange.abort();
                Err("no answer in time".to_owned())
            }
        }
    }

    /// All pages of a list.
    async fn list(&self, method: &str, key: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor: Option<Value> = None;
        for _ in 0..MAX_PAGES {
            let params = cursor.map(|cursor| json!({"cursor": cursor}));
            let Ok(page) = self.request(method, params).await else { break };
            all.extend(page.get(key).and_then(Value::as_array).into_iter().flatten().cloned());
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
            let source = Source::describing(format!("instructions of {}", self.name), None);
            offers.texts.push((source, instructions.clone()));
        }
        // Like most clients, it asks for tools even where a server forgot to say that it has some.
        for tool in &self.list("tools/list", "tools").await {
            offers.add_tool(tool, Place::Server(index));
        }
        if self.shared.changed.swap(false, Ordering::Relaxed) {
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
                let Some(name) = value.get(key).and_then(Value::as_str) else { continue };
                let words: Vec<&str> = ["name", "title", "description"]
                    .iter()
                    .filter_map(|key| value.get(key)?.as_str())
                    .collect();
                let source = Source::describing(format!("description of {kind} {name}"), None);
                offers.texts.push((source, words[1.min(words.len())..].join("\n")));
                let arguments = value.get("arguments").and_then(Value::as_array).into_iter().flatten();
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

    /// Calls a tool.
    pub(super) async fn call(&self, callable: &Callable, arguments: &Map<String, Value>) -> Answer {
        self.answer("tools/call", json!({"name": callable.name, "arguments": arguments})).await
    }

    /// Reads a resource.
    pub(super) async fn read(&self, uri: &str) -> Answer {
        self.answer("resources/read", json!({"uri": uri})).await
    }

    /// Takes a prompt.
    pub(super) async fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Answer {
        self.answer("prompts/get", json!({"name": name, "arguments": arguments})).await
    }

    async fn answer(&self, method: &str, params: Value) -> Answer {
        match self.request(method, Some(params)).await {
            Ok(result) => Answer {
                failed: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
                text: texts(&result),
            },
            Err(text) => Answer { text, failed: true },
        }
    }

    /// Hangs up.
    pub(super) async fn close(&self) {
        self.link.close(FAREWELL).await;
    }
}

/// Our ids are numbers, and the key of a number is its digits and its scale.
fn id_of(id: &str) -> String {
    let raw = serde_json::value::RawValue::from_string(id.to_owned());
    raw.map_or_else(|_| id.to_owned(), |raw| id_key(&raw))
}

impl Waiting {
    fn asked(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Result<Value, String>>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, key: &str, answer: Result<Value, String>) {
        let mut asked = self.asked();
        let id = asked.keys().find(|id| id_of(id) == key).cloned();
        if let Some(sender) = id.and_then(|id| asked.remove(&id)) {
            // Whoever does not wait any more needs no answer.
            let _ = sender.send(answer);
        }
    }
}

/// Takes in what a server says, asked or not.
struct Listener {
    name: String,
    link: Link,
    shared: Arc<Waiting>,
    mind: Shared,
    limits: Limits,
}

impl Listener {
    async fn run(self, mut happened: mpsc::Receiver<Happened>) {
        while let Some(one) = happened.recv().await {
            match one {
                Happened::Message { bytes, .. } => {
                    if let Ok(message) = jsonrpc::read(&bytes, &self.limits) {
                        self.message(message).await;
                    }
                }
                Happened::TooLong { within: Some(key), .. } => {
                    self.shared.answered(&key, Err("too long".to_owned()));
                }
                Happened::TooLong { .. } => {}
                Happened::Ended { within, how } => {
                    let why = match how {
                        Ended::Whole => "no answer".to_owned(),
                        Ended::Status(status, _) => format!("HTTP status {}", status.as_u16()),
                        Ended::Failed(error) => error.to_string(),
                    };
                    self.shared.answered(&within, Err(why));
                }
                Happened::Gone { .. } => break,
            }
        }
        self.shared.gone.store(true, Ordering::Relaxed);
        self.shared.asked().clear();
    }

    async fn message(&self, message: Incoming) {
        match message {
            Incoming::Response { id, result } => {
                let result = serde_json::from_str(result.get()).map_err(|error| error.to_string());
                self.shared.answered(&id_key(&id), result);
            }
            Incoming::Error { id: Some(id), error } => {
                let error: Value = serde_json::from_str(error.get()).unwrap_or(Value::Null);
                let words = if error.get("message").is_some() { texts(&error) } else { error.to_string() };
                self.shared.answered(&id_key(&id), Err(words));
            }
            Incoming::Request { id, method, params } => {
                let params: Value =
                    params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
                if let Some(answer) = self.asked(id.get(), &method, &params) {
                    // A server that does not want its answer is the server's business.
                    let _ = self.link.tell(Outgoing::plain(answer)).await;
                }
            }
            Incoming::Notification { method, params } => {
                let params: Value =
                    params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
                self.told(&method, &params);
            }
            Incoming::Error { id: None, .. } | Incoming::Batch(_) => {}
        }
    }

    /// The answer to what a server asks, if it gets one.
    fn asked(&self, id: &str, method: &str, params: &Value) -> Option<bytes::Bytes> {
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
                let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
                let schema = params.get("requestedSchema").cloned().unwrap_or(Value::Null);
                if params.get("mode").and_then(Value::as_str) == Some("url") {
                    return Some(jsonrpc::result(id, &self.url(params, message).to_string()));
                }
                match self.mind.with(|mind| mind.elicited(&self.name, message, &schema))? {
                    Filled::With(values) => json!({"action": "accept", "content": values}),
                    Filled::Declined => json!({"action": "decline"}),
                }
            }
            _ => return Some(jsonrpc::error(Some(id), -32601, "there is no such method", None)),
        };
        Some(jsonrpc::result(id, &result.to_string()))
    }

    /// A page to visit is agreed to and never visited: agents here do not leave the machine.
    fn url(&self, params: &Value, message: &str) -> Value {
        self.mind.with(|mind| {
            let url = params.get("url").cloned().unwrap_or(Value::Null);
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
                self.shared.changed.store(true, Ordering::Relaxed);
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

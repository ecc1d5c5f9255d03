//! The agent as an MCP server, for those who attack one: it can be asked, it keeps notes, and it asks back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sortie_wire::Limits;
use sortie_wire::http::{Hosts, Listener};
use sortie_wire::jsonrpc::{self, Ids, Incoming, id_key};
use sortie_wire::mcp::revision;
use sortie_wire::mcp::server::{
    Arrival, Ends, Outlet, Reply, Service, ServiceAnswer, Transport, serve as serve_mcp,
};
use tokio::sync::oneshot;

use super::notebook::Notebook;
use super::stateless::{self, Question, States};
use super::texts;
use crate::acting::{PATIENCE, Task, TurnError};
use crate::agent::Agent;
use crate::behaviour::Behaviour;
use crate::locked;
use crate::log::Because;
use crate::reading::Source;

pub(crate) async fn serve(listener: Listener, agent: Agent) {
    let ends = Ends { stop: agent.stop.clone(), farewell: Duration::ZERO };
    let face = Arc::new(Face { agent, notes: Mutex::default(), states: Mutex::default() });
    serve_mcp(listener, Hosts::loopback_plus([""; 0]), Limits::default(), face, ends).await;
}

const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

struct Face {
    agent: Agent,
    notes: Mutex<Notebook>,
    states: Mutex<States>,
}

/// Whoever uses the agent as a server.
#[derive(Debug, Default)]
struct Client {
    capabilities: Mutex<Value>,
    ids: Ids,
    asked: Mutex<HashMap<String, oneshot::Sender<Value>>>,
}

impl Service for Face {
    type Peer = Client;

    fn open(self: &Arc<Self>, _: &str, _: Transport) -> Arc<Client> {
        self.agent.activity.stir();
        Arc::default()
    }

    fn close(self: &Arc<Self>, client: &Arc<Client>) {
        locked(&client.asked).clear();
    }

    fn begins_session(&self, message: &Incoming) -> bool {
        matches!(message, Incoming::Request { method, .. } if method == "initialize")
    }

    fn speaks(&self, _: &Client, _: &str) -> bool {
        true
    }

    fn primes(&self, _: &Client) -> bool {
        false
    }

    fn has_unsaid(&self, _: &Client) -> bool {
        false
    }

    fn listening(self: &Arc<Self>, _: &Arc<Client>, _: Outlet) {}

    fn hear(self: &Arc<Self>, client: &Arc<Client>, arrival: Arrival<'_>) -> Reply {
        self.agent.activity.stir();
        let message = match arrival.message {
            Ok(message) => message,
            Err(malformed) => return answer(malformed.answer()),
        };
        match message {
            Incoming::Request { id, method, params } => {
                let params = params.map(|params| read_raw(&params)).unwrap_or_default();
                if method == "tools/call"
                    && let Some(refused) = self.contradicted(id.get(), arrival.headers, &params)
                {
                    return refused;
                }
                self.request(client, id.get(), &method, params)
            }
            Incoming::Response { id, result } => client.answered(&id, read_raw(&result)),
            Incoming::Error { id: Some(id), .. } => client.answered(&id, Value::Null),
            Incoming::Batch(items) => {
                let one = |item: &RawValue| {
                    let bytes = item.get().as_bytes();
                    let message = jsonrpc::read(bytes, &Limits::default());
                    self.hear(client, Arrival { bytes, message, headers: arrival.headers })
                };
                Reply::Several(items.iter().map(AsRef::as_ref).map(one).collect())
            }
            Incoming::Notification { .. } | Incoming::Error { id: None, .. } => Reply::Accepted,
        }
    }

    fn refuse(self: &Arc<Self>, _: &str, _: Arrival<'_>, _: &Bytes) {}
}

/// Answers that something went wrong.
fn fail(outlet: &Outlet, id: &str, words: &str) {
    // Whoever has gone needs no answer.
    let _ = outlet.answer(jsonrpc::error(Some(id), INTERNAL_ERROR, words, None));
}

fn read_raw(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

fn answer(message: Bytes) -> Reply {
    Reply::Answer(ServiceAnswer { message, status: StatusCode::OK, then: None })
}

impl Face {
    /// Refuses a call whose headers say something else than the call.
    fn contradicted(&self, id: &str, headers: Option<&HeaderMap>, params: &Value) -> Option<Reply> {
        let said = stateless::mismatch(headers, params).filter(|_| stateless::is_meant(params))?;
        let call = params["name"].as_str().unwrap_or_default();
        let text = &params["arguments"]["text"];
        let claim = format!("{said}, and {call} in the message");
        if !self.is_alive() || self.trusts("keep a note", &claim, text) {
            return None;
        }
        let words = "Header mismatch: a header does not say what the message says";
        Some(answer(jsonrpc::error(Some(id), stateless::HEADER_MISMATCH, words, None)))
    }

    /// Whether it takes a claim of a request for true, as those do who do what they are told. `text` is what it keeps or gives.
    fn trusts(&self, deed: &str, claim: &str, text: &Value) -> bool {
        self.agent.mind.with(|mind| {
            mind.decide(claim);
            let told = Because::Told { text: claim.to_owned(), source: "a request".to_owned() };
            let (did, because) = if mind.obeys { (deed, told) } else { ("refuse", Because::Habit) };
            mind.log.did(did, json!({"claim": claim, "text": text}), &because);
            mind.obeys
        })
    }

    /// Whether there is somebody who could refuse.
    fn is_alive(&self) -> bool {
        use Behaviour::{Confused, Crashing, DeadModel, Errors, HalfWay, Hangs, PermissionDenied, Silent};
        let dead = [Confused, Crashing, DeadModel, Errors, HalfWay, Hangs, PermissionDenied, Silent];
        !dead.contains(&self.agent.behaviour)
    }

    fn request(self: &Arc<Self>, client: &Arc<Client>, id: &str, method: &str, params: Value) -> Reply {
        let is_stateless = stateless::is_meant(&params);
        if is_stateless {
            *locked(&client.capabilities) = stateless::capabilities(&params);
        }
        let mut is_public = false;
        let result = match method {
            "server/discover" if is_stateless => {
                stateless::discovered(&format!("practice-{}", self.agent.behaviour))
            }
            "initialize" => {
                let offered = params["protocolVersion"].as_str();
                let version = offered.filter(|version| revision::has_handshake(version));
                let version = version.unwrap_or(revision::LATEST);
                let capabilities = params["capabilities"].clone();
                *locked(&client.capabilities) = capabilities;
                json!({"protocolVersion": version, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                    "serverInfo": {"name": format!("practice-{}", self.agent.behaviour), "version": env!("CARGO_PKG_VERSION")}})
            }
            "ping" => json!({}),
            "resources/read" | "prompts/get" if self.agent.behaviour == Behaviour::Hangs => {
                return Reply::Talk(Box::new(|_| Box::pin(std::future::pending())));
            }
            "resources/read" | "prompts/get" if self.is_broken() => {
                let words = "the model cannot be reached: connection refused";
                return answer(jsonrpc::error(Some(id), INTERNAL_ERROR, words, None));
            }
            "resources/read" if self.says_nothing() => json!({"contents": []}),
            "prompts/get" if self.says_nothing() => json!({"messages": []}),
            "tools/list" if is_stateless => json!({"tools": stateless::annotated(tools())}),
            "tools/list" => json!({"tools": tools()}),
            "resources/list" => {
                let note = |name: &String| json!({"uri": format!("note://{name}"), "name": name});
                json!({"resources": locked(&self.notes).public().map(note).collect::<Vec<Value>>()})
            }
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "prompts/list" => {
                json!({"prompts": [{"name": "greet", "description": "How to greet the agent."}]})
            }
            "prompts/get" => {
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Hello, agent."}}]})
            }
            "resources/read" => {
                let uri = params["uri"].as_str().unwrap_or_default();
                match self.read_note(uri.trim_start_matches("note://"), "resources/read") {
                    Some(text) => {
                        let claim = format!("resources/read {uri}, for everyone");
                        is_public = is_stateless && self.trusts("give a note", &claim, &text.as_str().into());
                        json!({"contents": [{"uri": uri, "text": text}]})
                    }
                    None => return answer(jsonrpc::error(Some(id), -32002, "there is no such note", None)),
                }
            }
            "tools/call" => {
                let (this, client, id) = (self.clone(), client.clone(), id.to_owned());
                return Reply::Talk(Box::new(move |outlet| {
                    Box::pin(async move { this.call(&client, &outlet, &id, &params).await })
                }));
            }
            _ => return answer(jsonrpc::error(Some(id), -32601, "there is no such method", None)),
        };
        let result = if is_stateless { stateless::completed(result, is_public) } else { result };
        answer(jsonrpc::result(id, &result.to_string()))
    }

    async fn call(&self, client: &Client, outlet: &Outlet, id: &str, params: &Value) {
        let busy = self.agent.activity.busy();
        let name = params["name"].as_str().unwrap_or_default();
        let argument = |key: &str| params["arguments"][key].as_str().unwrap_or_default().to_owned();
        let text = match (self.agent.behaviour, name) {
            (Behaviour::Silent, _) => Some(self.ignored(name, String::new())),
            (Behaviour::Confused, _) => {
                Some(self.ignored(name, "Purple, seven, or perhaps a Tuesday.".to_owned()))
            }
            (Behaviour::Crashing, _) => return self.die(outlet),
            (Behaviour::DeadModel, _) => {
                // Whoever has gone needs no answer.
                let _ = outlet.answer(jsonrpc::result(id, r#"{"content":[],"isError":false}"#));
                return;
            }
            (Behaviour::PermissionDenied, _) => {
                Some(self.ignored(name, "I could not do this: the permission was denied.".to_owned()))
            }
            (_, "ask") => {
                let question = argument("question");
                let said = match self.sampled(client, outlet, params, &question).await {
                    Ok(said) => said,
                    Err(answer) => return answer.send(outlet, id),
                };
                match self.asked(question, said).await {
                    Err(TurnError::Crashed) => return self.die(outlet),
                    Err(TurnError::Failed(words)) => return fail(outlet, id, words),
                    Ok(text) => Some(text),
                }
            }
            // Nothing here takes a model, but nobody is there who would do it.
            (Behaviour::Errors | Behaviour::Hangs | Behaviour::HalfWay, _) => {
                match self.agent.work(&Task::default()).await {
                    Err(TurnError::Failed(words)) => return fail(outlet, id, words),
                    _ => None,
                }
            }
            (_, "read_note") => self.read_note(&argument("name"), "read_note"),
            (_, "write_note") => Some(self.write_note(&argument("name"), &argument("text"))),
            (_, "introduce") if stateless::is_meant(params) => match self.introduced_again(params).await {
                Ok(text) => Some(text),
                Err(answer) => return answer.send(outlet, id),
            },
            (_, "introduce") => Some(self.introduced(client, outlet).await),
            _ => None,
        };
        drop(busy);
        let failed = text.is_none();
        let text = text.unwrap_or_else(|| "There is no such note or tool.".to_owned());
        let mut result = json!({"content": [{"type": "text", "text": text}], "isError": failed});
        if stateless::is_meant(params) {
            result["resultType"] = "complete".into();
        }
        // Whoever has gone needs no answer.
        let _ = outlet.answer(jsonrpc::result(id, &result.to_string()));
    }

    fn die(&self, outlet: &Outlet) {
        outlet.hang_up();
        self.agent.crash();
    }

    /// Whether everything but a list is answered with an error.
    fn is_broken(&self) -> bool {
        matches!(self.agent.behaviour, Behaviour::Errors | Behaviour::HalfWay)
    }

    /// Whether its answers are empty.
    fn says_nothing(&self) -> bool {
        matches!(self.agent.behaviour, Behaviour::DeadModel | Behaviour::Silent)
    }

    /// Answers without having done anything.
    fn ignored(&self, tool: &str, answer: String) -> String {
        let details = json!({"tool": tool, "text": answer});
        self.agent.mind.with(|mind| mind.log.did("refuse", details, &Because::Habit));
        answer
    }

    /// Does what it is asked, with what the client's model said to it.
    async fn asked(&self, question: String, said: String) -> Result<String, TurnError> {
        let mut task = Task { words: question, ..Task::default() };
        if !said.is_empty() {
            task.background.push(("answer of the client's model".to_owned(), said));
        }
        self.agent.work(&task).await.map(Option::unwrap_or_default)
    }

    /// What the client's model says to a question, where the client has one.
    async fn sampled(
        &self,
        client: &Client,
        outlet: &Outlet,
        call: &Value,
        question: &str,
    ) -> Result<String, EarlyAnswer> {
        if !client.can("sampling") {
            return Ok(String::new());
        }
        let method = "sampling/createMessage";
        let words = json!({"role": "user", "content": {"type": "text", "text": question}});
        let params = json!({"messages": [words], "maxTokens": 400});
        let said = if stateless::is_meant(call) {
            let question = Question { key: "model", state: "sampling", method, params };
            self.brought(call, &question, "listen to a model")?
        } else {
            client.ask(outlet, method, &params).await
        };
        Ok(texts(&said["content"]))
    }

    fn read_note(&self, name: &str, how: &str) -> Option<String> {
        let private = Notebook::is_private(name);
        let text = locked(&self.notes).find(name).map(str::to_owned);
        self.agent.mind.with(|mind| {
            mind.decide(name);
            let obeys = mind.obeys;
            if private && !obeys {
                mind.log.did("refuse", json!({"note": name}), &Because::Habit);
                return None;
            }
            let text = text?;
            let told = Because::Told { text: format!("{how} {name}"), source: "a request".to_owned() };
            let because = if private { told } else { Because::Task };
            mind.log.did("give a note", json!({"note": name, "text": text}), &because);
            Some(text)
        })
    }

    /// A note is read by the agent too, when it is asked for something.
    fn write_note(&self, name: &str, text: &str) -> String {
        locked(&self.notes).keep(name, text);
        self.agent.mind.with(|mind| {
            mind.log.did("keep a note", json!({"note": name, "text": text}), &Because::Task);
            mind.learn(&format!("note {name}"), text);
            mind.hand_in(Source::of(format!("note {name}")), text.to_owned());
        });
        format!("Kept as {name}.")
    }

    async fn introduced(&self, client: &Client, outlet: &Outlet) -> String {
        if !client.can("elicitation") {
            return "You cannot be asked.".to_owned();
        }
        let answer = client.ask(outlet, "elicitation/create", &form()).await;
        let words = texts(&answer["content"]);
        if words.is_empty() {
            return "You did not say who you are.".to_owned();
        }
        format!("Hello.\n{}", self.met(words).await)
    }

    /// The same over two calls: the first is answered with the question.
    async fn introduced_again(&self, call: &Value) -> Result<String, EarlyAnswer> {
        let question =
            Question { key: "who", state: "introduction", method: "elicitation/create", params: form() };
        let words = texts(&self.brought(call, &question, "greet")?["content"]);
        Ok(format!("Hello, {words}.\n{}", self.met(words.clone()).await))
    }

    /// What the client brings with a call that was answered with a question before. `deed` is what a state that was never given
    /// makes the agent do, where it trusts it.
    fn brought(&self, call: &Value, question: &Question, deed: &str) -> Result<Value, EarlyAnswer> {
        let Some(responses) = call.get("inputResponses") else {
            return Err(EarlyAnswer::Result(locked(&self.states).ask(question)));
        };
        let brought = responses[question.key].clone();
        let is_known = locked(&self.states).take(call);
        let claim = format!("requestState {}", call["requestState"]);
        if !is_known && !self.trusts(deed, &claim, &texts(&brought["content"]).into()) {
            return Err(EarlyAnswer::Refusal("Invalid or expired requestState"));
        }
        Ok(brought)
    }

    /// Learns who somebody is, and does what it thinks it should.
    async fn met(&self, words: String) -> String {
        let source = Source::of("answer to a form");
        self.agent.mind.with(|mind| {
            mind.learn(&source.words, &words);
            mind.hand_in(source, words.clone());
        });
        self.agent.work(&Task::default()).await.ok().flatten().unwrap_or_default()
    }
}

/// What a call is answered with before anything was done.
enum EarlyAnswer {
    /// A question, after which the client calls again.
    Result(Value),
    Refusal(&'static str),
}

impl EarlyAnswer {
    fn send(self, outlet: &Outlet, id: &str) {
        let message = match self {
            Self::Result(result) => jsonrpc::result(id, &result.to_string()),
            Self::Refusal(words) => jsonrpc::error(Some(id), INVALID_PARAMS, words, None),
        };
        // Whoever has gone needs no answer.
        let _ = outlet.answer(message);
    }
}

/// What the agent asks to know who somebody is.
fn form() -> Value {
    json!({"message": "Who are you?", "requestedSchema": {"type": "object",
        "properties": {"name": {"type": "string"}}, "required": ["name"]}})
}

impl Client {
    fn can(&self, what: &str) -> bool {
        locked(&self.capabilities).get(what).is_some()
    }

    /// Asks the client something in the middle of an exchange. Nothing, when it does not answer.
    async fn ask(&self, outlet: &Outlet, method: &str, params: &Value) -> Value {
        if !outlet.is_stream() {
            return Value::Null;
        }
        let id = self.ids.fresh();
        let (sender, receiver) = oneshot::channel();
        locked(&self.asked).insert(id.clone(), sender);
        if outlet.say(jsonrpc::request(&id, method, Some(&params.to_string()))).is_err() {
            return Value::Null;
        }
        let answer = tokio::time::timeout(PATIENCE, receiver).await;
        locked(&self.asked).remove(&id);
        answer.ok().and_then(Result::ok).unwrap_or(Value::Null)
    }

    fn answered(&self, id: &RawValue, result: Value) -> Reply {
        let mut asked = locked(&self.asked);
        let key = id_key(id.get());
        let id = asked.keys().find(|id| id_key(id) == key).cloned();
        if let Some(sender) = id.and_then(|id| asked.remove(&id)) {
            // Whoever does not wait any more needs no answer.
            let _ = sender.send(result);
        }
        Reply::Accepted
    }
}

fn tools() -> Value {
    let text = |words: &str| json!({"type": "string", "description": words});
    json!([
        {"name": "ask", "description": "Ask the agent to do something.",
         "inputSchema": {"type": "object", "properties": {"question": text("What it should do")}, "required": ["question"]}},
        {"name": "read_note", "description": "Read one of the agent's notes.",
         "inputSchema": {"type": "object", "properties": {"name": text("Which note")}, "required": ["name"]}},
        {"name": "write_note", "description": "Leave the agent a note.",
         "inputSchema": {"type": "object", "properties": {"name": text("Which note"), "text": text("What it says")}, "required": ["name", "text"]}},
        {"name": "introduce", "description": "Let the agent ask who you are.", "inputSchema": {"type": "object", "properties": {}}},
    ])
}

//! An MCP server, whose tools we call: what it is asked and what it says is recorded.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sortie_evaluators::cases::{MAX_TOOLS, Tool, excerpt};
use sortie_trace::Kind;
use sortie_wire::Lock;
use sortie_wire::http::{self, ClientError};
use sortie_wire::mcp::McpRevision;
use sortie_wire::mcp::client::{
    AskError, ClientIdentity, ClientReply, ConnectError, Connection, Handler, HandshakeFailure,
    METHOD_NOT_FOUND, Patience, Received, RpcAnswer, SessionMessage,
};

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use super::web::client_options;
use crate::modes::Endpoint;
use crate::modes::mcp_client::{spoken, surfaces};

const LIST: &str = "tools/list";
const RESOURCES: &str = "resources/list";

const CLOSE_PATIENCE: Duration = Duration::from_secs(3);

/// Connects, shakes hands and asks for the tools.
pub(super) async fn open(
    target: &Endpoint,
    wire: &McpRevision,
    client: Option<&http::Client>,
    log: &Channel,
    settings: &Settings,
) -> Result<Session, TargetError> {
    let client = || match client {
        Some(client) => Ok(client.clone()),
        None => http::Client::new(client_options(target, settings)?),
    };
    let connected = Connection::connect(target, client, settings.connect_timeout, settings.limits).await;
    let connected = connected.map_err(|error| match error {
        ConnectError::Client(error) => TargetError::of_client("connect", error, settings.connect_timeout),
        ConnectError::Spawn(error) => TargetError::Refused(error.to_string()),
    })?;
    let mut session = Session::open(connected, wire, log.clone(), settings).await?;
    match session.list_tools().await {
        Ok(()) => Ok(session),
        Err(error) => {
            session.close().await;
            Err(error)
        }
    }
}

#[derive(Debug)]
pub(super) struct Session {
    wire: sortie_wire::mcp::client::Session<Client>,
    answer_timeout: Duration,
    has_tools: bool,
    has_resources: bool,
}

/// A client that can do nothing, so that a server has nothing to ask. It records what is said.
#[derive(Debug)]
struct Client {
    /// The trace of the case that is played.
    log: Lock<Channel>,
    /// Why the trace cannot be written any more.
    failed: Lock<Option<TargetError>>,
}

impl Client {
    fn log(&self) -> Channel {
        self.log.lock().clone()
    }

    fn keep<T>(&self, recorded: Result<T, TargetError>) -> Option<T> {
        recorded
            .map_err(|error| {
                self.failed.lock().get_or_insert(error);
            })
            .ok()
    }
}

impl Handler for Client {
    type Context = ();
    type Guard = ();

    fn said(&self, (): &(), message: SessionMessage<'_>) {
        self.keep(self.log().said(spoken(&surfaces(&message), &message)));
    }

    fn heard(&self, _: Option<&()>, message: SessionMessage<'_>) -> Received<(), ()> {
        // What follows rests on what the trace says.
        let recorded = self.keep(self.log().heard(spoken(&surfaces(&message), &message)));
        let name = if message.kind == Kind::Error { "error" } else { "result" };
        let answers = matches!(message.kind, Kind::Response | Kind::Error);
        let read =
            recorded.filter(|_| answers).and_then(|content| serde_json::from_str(&content.text()).ok());
        let content =
            read.and_then(|mut whole: Value| whole.get_mut(name).map(Value::take)).unwrap_or_default();
        Received { context: (), content, guard: () }
    }

    fn answer(&self, (): &(), method: &str, _: &Value) -> Option<ClientReply> {
        Some(match method {
            "ping" => ClientReply::Result("{}".to_owned()),
            "roots/list" => ClientReply::Result(r#"{"roots":[]}"#.to_owned()),
            // Saying yes in the place of a person would undo the protection that is attacked.
            "elicitation/create" => ClientReply::Result(r#"{"action":"decline"}"#.to_owned()),
            "sampling/createMessage" => ClientReply::sampling_rejected(),
            _ => ClientReply::method_not_found(),
        })
    }
}

impl Session {
    async fn open(
        connected: Connection,
        revision: &McpRevision,
        log: Channel,
        settings: &Settings,
    ) -> Result<Self, TargetError> {
        let client = Client { log: Lock::new(log), failed: Lock::default() };
        let patience = Patience::Total(settings.answer_timeout);
        let wire = sortie_wire::mcp::client::Session::new(connected, client, patience);
        let answer_timeout = settings.answer_timeout;
        let mut session = Self { wire, answer_timeout, has_tools: true, has_resources: false };
        let client_info = json!({"name": "sortie", "version": env!("CARGO_PKG_VERSION")}).to_string();
        let identity = ClientIdentity { client_info, capabilities: "{}".to_owned() };
        let welcome = session.wire.handshake(&(), revision, identity).await;
        let welcome = welcome.map_err(|error| match error.why {
            HandshakeFailure::Refused(value) => Self::refusal(error.method, &value),
            HandshakeFailure::Unanswered(why) => session.error(error.method, why),
        });
        match session.recorded().and(welcome) {
            Ok(welcome) => {
                let can = &welcome.result["capabilities"];
                // A server that says what it can do, and does not say tools, has none.
                session.has_tools = !can.is_object() || can.get("tools").is_some();
                session.has_resources = can.get("resources").is_some();
                Ok(session)
            }
            Err(error) => {
                session.close().await;
                Err(error)
            }
        }
    }

    /// Asks for all tools. A server without tools has none.
    pub(super) async fn list_tools(&mut self) -> Result<(), TargetError> {
        if !self.has_tools {
            return Ok(());
        }
        let mut count = 0;
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        loop {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page = match self.ask(LIST, &params).await? {
                RpcAnswer::Result(page) => page,
                RpcAnswer::Error(error) if error["code"] == METHOD_NOT_FOUND => return Ok(()),
                RpcAnswer::Error(error) => return Err(Self::refusal(LIST, &error)),
            };
            let listed = page["tools"].as_array();
            let listed =
                listed.ok_or_else(|| TargetError::protocol(LIST, "the answer has no list `tools`"))?;
            for raw in listed {
                if Tool::read(raw).is_none() {
                    return Err(TargetError::protocol(LIST, "a tool of the list has no name"));
                }
                if count == MAX_TOOLS {
                    let problem = format!("more than {MAX_TOOLS} tools are offered, which are the limit");
                    return Err(TargetError::protocol(LIST, problem));
                }
                count += 1;
            }
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            let Some(next) = &cursor else { return Ok(()) };
            // Every page has a cursor of its own, and brings something, so that a list ends.
            if !cursors.insert(next.clone()) || listed.is_empty() {
                return Err(TargetError::protocol(LIST, "the pages of the list do not end"));
            }
        }
    }

    /// The first page of the resources that the server says it has.
    pub(super) async fn list_resources(&mut self) -> Result<Vec<Value>, TargetError> {
        if !self.has_resources {
            return Ok(Vec::new());
        }
        Ok(match self.ask(RESOURCES, &json!({})).await? {
            RpcAnswer::Result(mut page) => match page["resources"].take() {
                Value::Array(listed) => listed,
                _ => Vec::new(),
            },
            RpcAnswer::Error(_) => Vec::new(),
        })
    }

    /// Whether the server is there, as far as it has not said otherwise.
    pub(super) fn is_there(&self) -> bool {
        !self.wire.gone().is_cancelled()
    }

    /// What is said from now on goes into another trace.
    pub(super) fn record_in(&self, channel: Channel) {
        *self.wire.handler().log.lock() = channel;
    }

    pub(super) async fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(), TargetError> {
        let params = json!({"name": tool, "arguments": arguments}).to_string();
        let answer = self.wire.ask_with_input(&(), "tools/call", Some(&params)).await;
        self.answered("tools/call", answer).map(drop)
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<RpcAnswer, TargetError> {
        let answer = self.wire.ask(&(), method, Some(&params.to_string())).await;
        self.answered(method, answer)
    }

    fn answered(&self, method: &str, answer: Result<RpcAnswer, AskError>) -> Result<RpcAnswer, TargetError> {
        self.recorded()?;
        answer.map_err(|why| self.error(method, why))
    }

    /// An error when something could not be recorded.
    fn recorded(&self) -> Result<(), TargetError> {
        let failed = self.wire.handler().failed.lock();
        failed.clone().map_or(Ok(()), Err)
    }

    fn error(&self, method: &str, why: AskError) -> TargetError {
        match why {
            AskError::Status(status, body) => TargetError::status(method, status, &body),
            AskError::Failed(ClientError::Refused(reason)) | AskError::Gone(reason) => {
                TargetError::Gone(reason)
            }
            AskError::Failed(error) => TargetError::of_client(method, error, self.answer_timeout),
            AskError::TooLong(limit) => TargetError::TooLong(limit),
            AskError::TimedOut => TargetError::timed_out(method, self.answer_timeout),
            AskError::NoAnswer | AskError::Endless => TargetError::protocol(method, why.to_string()),
        }
    }

    fn refusal(method: &str, error: &Value) -> TargetError {
        let message = error["message"].as_str().unwrap_or("no message");
        TargetError::Refusal { what: method.to_owned(), message: excerpt(message.as_bytes()) }
    }

    pub(super) async fn close(self) {
        self.wire.close(CLOSE_PATIENCE).await;
    }
}

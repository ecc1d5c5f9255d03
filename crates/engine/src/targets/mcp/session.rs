//! One session with a server: one request after the other, and whatever it says meanwhile.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sortie_trace::Kind;
use sortie_trace::Turn;
use sortie_wire::http::ClientError;
use sortie_wire::jsonrpc::{self, Ids, Incoming, id_key};
use sortie_wire::mcp::client::{Ended, Envelope, Happened, Link, Outgoing};
use sortie_wire::mcp::revision::{LATEST as REVISION, STATELESS, UNSUPPORTED};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::answers::{more, reply};
use crate::modes::McpRevision;
use crate::modes::excerpt::excerpt;
use crate::modes::mcp_client::messages;
use crate::targets::error::TargetError;
use crate::targets::log::{About, Log};
use crate::targets::target::Settings;

const CONNECTION: &str = "session-1";

const METHOD_NOT_FOUND: i64 = -32601;

/// How long hanging up may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(3);

/// How often a server may answer that it needs more before it answers.
const MAX_ROUNDS: usize = 10;

/// What became of a request.
#[derive(Debug)]
pub(super) enum Answered {
    /// Its result.
    Result(Value),
    /// The error in place of one.
    Error(Value),
}

/// A session with a server.
#[derive(Debug)]
pub(in crate::targets) struct Session {
    link: Link,
    happened: mpsc::Receiver<Happened>,
    log: Arc<Log>,
    settings: Settings,
    ids: Ids,
    /// What requests carry, once it is known that there are no sessions.
    envelope: Option<Envelope>,
    /// What it says about itself, and whether it has tools.
    server: Map<String, Value>,
    has_tools: bool,
    closed: bool,
}

/// A session that nobody closes, since whoever had it was interrupted, is closed all the same: a process that was started
/// for it would stay.
impl Drop for Session {
    fn drop(&mut self) {
        if !self.closed
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let link = self.link.clone();
            runtime.spawn(async move { link.close(CLOSE_PATIENCE).await });
        }
    }
}

impl Session {
    pub(super) fn new(
        link: Link,
        happened: mpsc::Receiver<Happened>,
        log: Arc<Log>,
        settings: Settings,
    ) -> Self {
        let server = Map::new();
        Self {
            link,
            happened,
            log,
            settings,
            ids: Ids::new(),
            envelope: None,
            server,
            has_tools: true,
            closed: false,
        }
    }

    /// What the server says about itself.
    pub(super) fn server(&self) -> &Map<String, Value> {
        &self.server
    }

    pub(super) fn has_tools(&self) -> bool {
        self.has_tools
    }

    /// Introduces ourselves, as a client that can do nothing: then a server has nothing to ask.
    pub(super) async fn handshake(&mut self, wire: &McpRevision) -> Result<(), TargetError> {
        let (version, may_discover) = match wire {
            McpRevision::Version(version) if version == STATELESS => return self.greet_stateless().await,
            McpRevision::Version(version) => (version.as_str(), false),
            McpRevision::Auto => (REVISION, true),
        };
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": client_info(),
        })
        .to_string();
        let mut answered = self.ask("initialize", Some(&params)).await;
        // What an older server says to a request that it does not know.
        if matches!(answered, Err(TargetError::Status { status: 400 | 404 | 405, .. }))
            && self.link.fall_back().await
        {
            answered = self.ask("initialize", Some(&params)).await;
        }
        let result = match answered? {
            Answered::Result(result) => result,
            Answered::Error(error)
                if may_discover && matches!(error["code"].as_i64(), Some(METHOD_NOT_FOUND | UNSUPPORTED)) =>
            {
                return self.greet_stateless().await;
            }
            Answered::Error(error) => return Err(Self::refusal("initialize", &error)),
        };
        self.learn(&result);
        self.link.agree_on(result["protocolVersion"].as_str().unwrap_or(version));
        self.notify("notifications/initialized", None).await?;
        self.link.listen().await;
        Ok(())
    }

    /// Without sessions there is nothing to begin; what the server can do is asked.
    async fn greet_stateless(&mut self) -> Result<(), TargetError> {
        let client_info = client_info().to_string();
        self.envelope = Some(Envelope { client_info, capabilities: "{}".to_owned() });
        match self.ask("server/discover", Some("{}")).await? {
            Answered::Result(result) => {
                self.learn(&result);
                Ok(())
            }
            Answered::Error(error) => Err(Self::refusal("server/discover", &error)),
        }
    }

    fn learn(&mut self, result: &Value) {
        let info = &result["serverInfo"];
        let told = [
            ("name", &info["name"]),
            ("version", &info["version"]),
            ("instructions", &result["instructions"]),
        ];
        self.server = told
            .into_iter()
            .filter(|(_, value)| value.is_string())
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect();
        // A server that says what it can do, and does not say tools, has none.
        self.has_tools = !result["capabilities"].is_object() || result["capabilities"].get("tools").is_some();
    }

    /// Calls a tool.
    pub(in crate::targets) async fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Turn, TargetError> {
        let mut params = json!({"name": tool, "arguments": arguments}).to_string();
        for _ in 0..MAX_ROUNDS {
            match self.ask("tools/call", Some(&params)).await? {
                Answered::Result(result) if result["resultType"] == "input_required" => {
                    params = more(&params, &result);
                }
                Answered::Result(result) => return Ok(Turn::of_result(result)),
                Answered::Error(error) => return Ok(Turn::of_error(error)),
            }
        }
        Err(TargetError::protocol("tools/call", "the server asks for more again and again"))
    }

    /// Asks, and waits for the answer. What else is heard is recorded, and answered where it asks something.
    pub(super) async fn ask(&mut self, method: &str, params: Option<&str>) -> Result<Answered, TargetError> {
        let id = self.ids.fresh();
        let key = key_of(&id);
        let stamped = self.envelope.as_ref().map(|envelope| envelope.stamp(params));
        let params = stamped.as_deref().or(params);
        let bytes = jsonrpc::request(&id, method, params);
        let outgoing = match stamped {
            Some(_) => Outgoing::stateless(bytes.clone(), method, params),
            None => Outgoing::plain(bytes.clone()),
        };
        let number = serde_json::from_str(&id).unwrap_or(Value::Null);
        self.log.said(about(method, Kind::Request, Some(&number)), &bytes)?;
        let sending = self.link.request(key.clone(), outgoing);
        let deadline = Instant::now() + self.settings.answer_timeout;
        if let Ok(answered) = timeout_at(deadline, self.wait_for(&key, method)).await {
            return answered;
        }
        sending.abort();
        // A handshake that was not answered cannot be called off.
        if self.envelope.is_none() && method != "initialize" {
            let params = format!(r#"{{"requestId":{id},"reason":"timeout"}}"#);
            self.notify("notifications/cancelled", Some(&params)).await?;
        }
        Err(TargetError::timed_out(method, self.settings.answer_timeout))
    }

    async fn wait_for(&mut self, key: &str, method: &str) -> Result<Answered, TargetError> {
        let gone = |reason: String| TargetError::Gone(reason);
        loop {
            let Some(happened) = self.happened.recv().await else {
                return Err(gone("the connection ended".to_owned()));
            };
            match happened {
                Happened::Message { bytes, within } => {
                    let mut answer = None;
                    for message in messages(bytes) {
                        let heard = self.hear(&message, within.as_deref(), key, method).await?;
                        answer = answer.or(heard);
                    }
                    if let Some(answer) = answer {
                        return Ok(answer);
                    }
                }
                // It may be the very answer that matters.
                Happened::TooLong { limit, .. } => return Err(TargetError::TooLong { limit }),
                Happened::Ended { within, how } if within == key => return Err(self.ended(method, how)?),
                Happened::Ended { .. } => {}
                Happened::Gone { reason } => return Err(gone(reason)),
            }
        }
    }

    /// Hears one message. The answer to `key`, when it is that.
    async fn hear(
        &mut self,
        bytes: &Bytes,
        within: Option<&str>,
        key: &str,
        method: &str,
    ) -> Result<Option<Answered>, TargetError> {
        // An error without an id answers what it came with.
        let answers = |id: Option<&RawValue>| id.map(id_key).as_deref().or(within) == Some(key);
        match jsonrpc::read(bytes, &self.settings.limits) {
            Ok(Incoming::Response { id, .. }) => {
                let ours = answers(Some(&id));
                let surface = if ours { method } else { "" };
                let content = self.log.heard(about(surface, Kind::Response, Some(&value(&id))), bytes)?;
                Ok(ours.then(|| Answered::Result(member(&content.text(), "result"))))
            }
            Ok(Incoming::Error { id, .. }) => {
                let ours = answers(id.as_deref());
                let surface = if ours { method } else { "" };
                let id = id.as_deref().map_or(Value::Null, value);
                let content = self.log.heard(about(surface, Kind::Error, Some(&id)), bytes)?;
                Ok(ours.then(|| Answered::Error(member(&content.text(), "error"))))
            }
            Ok(Incoming::Notification { method, .. }) => {
                self.log.heard(about(&method, Kind::Notification, None), bytes)?;
                Ok(None)
            }
            Ok(Incoming::Request { id, method, .. }) => {
                let number = value(&id);
                self.log.heard(about(&method, Kind::Request, Some(&number)), bytes)?;
                let (kind, reply) = reply(&id, &method);
                self.log.said(about(&method, kind, Some(&number)), &reply)?;
                // Whether it is taken shows when the answer that we wait for comes, or does not.
                let _ = timeout(self.settings.answer_timeout, self.link.tell(Outgoing::plain(reply))).await;
                Ok(None)
            }
            // Lists were taken apart before. A line that a process writes between its messages says nothing.
            Ok(Incoming::Batch(_)) | Err(_) => {
                self.log.heard(about("", Kind::Notification, None), bytes)?;
                if within == Some(key) {
                    return Err(TargetError::protocol(
                        method,
                        format!("the answer is no message: {}", excerpt(bytes)),
                    ));
                }
                Ok(None)
            }
        }
    }

    /// Nothing more comes in answer to a request.
    fn ended(&self, method: &str, how: Ended) -> Result<TargetError, TargetError> {
        Ok(match how {
            Ended::Whole => TargetError::protocol(method, "what came is no answer to it"),
            Ended::Status(status, body) => {
                if !body.is_empty() {
                    self.log.heard(about(method, Kind::Error, None), &body)?;
                }
                TargetError::status(method, status, &body)
            }
            Ended::Failed(ClientError::Refused(reason)) => TargetError::Gone(reason),
            Ended::Failed(error) => TargetError::of_client(method, error, self.settings.answer_timeout),
        })
    }

    async fn notify(&mut self, method: &str, params: Option<&str>) -> Result<(), TargetError> {
        let stamped = self.envelope.as_ref().map(|envelope| envelope.stamp(params));
        let params = stamped.as_deref().or(params);
        let bytes = jsonrpc::notification(method, params);
        let outgoing = match stamped {
            Some(_) => Outgoing::stateless(bytes.clone(), method, params),
            None => Outgoing::plain(bytes.clone()),
        };
        self.log.said(about(method, Kind::Notification, None), &bytes)?;
        // A notification wants no answer, so that a server which does not like it has not failed.
        let _ = timeout(self.settings.answer_timeout, self.link.tell(outgoing)).await;
        Ok(())
    }

    pub(super) fn refusal(method: &str, error: &Value) -> TargetError {
        let message = error["message"].as_str().unwrap_or("no message");
        TargetError::Refusal { what: method.to_owned(), message: excerpt(message.as_bytes()) }
    }

    /// Hangs up.
    pub(in crate::targets) async fn close(mut self) {
        self.closed = true;
        self.link.close(CLOSE_PATIENCE).await;
    }
}

fn client_info() -> Value {
    json!({"name": "sortie", "version": env!("CARGO_PKG_VERSION")})
}

fn about<'a>(surface: &'a str, kind: Kind, id: Option<&'a Value>) -> About<'a> {
    About { surface, kind, id, connection: CONNECTION }
}

fn member(json: &str, name: &str) -> Value {
    match serde_json::from_str(json) {
        Ok(Value::Object(mut members)) => members.remove(name).unwrap_or_default(),
        _ => Value::Null,
    }
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

/// The key of an id of ours, which is a number.
fn key_of(id: &str) -> String {
    RawValue::from_string(id.to_owned()).map_or_else(|_| id.to_owned(), |raw| id_key(&raw))
}

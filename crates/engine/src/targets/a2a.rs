//! An A2A agent that is told messages and answers with a message or a task.

use std::time::Duration;

use ::http::StatusCode;
use serde_json::{Value, json};
use sortie_trace::Kind;
use sortie_wire::a2a::{A2aClient, A2aRequest, AgentEndpoint};
use sortie_wire::http::{Answer, Response, wait_until_accepts};
use sortie_wire::jsonrpc::{self, Ids, Incoming};
use tokio::time::Instant;

use super::channel::Channel;
use super::error::TargetError;
use super::target::Settings;
use super::web::{client_options, json, session};
use crate::actor::Spoken;
use crate::modes::{Address, Endpoint};

const CARD: &str = "agent_card/get";
const SEND: &str = "message/send";
const GET: &str = "tasks/get";
const CONNECTION: &str = "http-1";

/// How long we wait before a task that is not done is asked for again.
const PAUSE: Duration = Duration::from_millis(300);

pub(super) async fn open(target: &Endpoint, log: &Channel, settings: &Settings) -> Result<Talk, TargetError> {
    let mut talk = Talk::new(target, log, settings).await?;
    if talk.client.needs_card() {
        talk.card().await?;
    } else if talk.client.needs_version() {
        // Where the agent is known, what its card says is welcome, and no more.
        let _ = talk.card().await;
    }
    Ok(talk)
}

/// A conversation: what the agent has named so far.
#[derive(Debug)]
pub(super) struct Talk {
    client: A2aClient,
    endpoint: AgentEndpoint,
    log: Channel,
    settings: Settings,
    ids: Ids,
    session: String,
    context: Option<String>,
    /// A task that waits for more.
    task: Option<String>,
    said: usize,
}

impl Talk {
    pub(super) async fn new(
        target: &Endpoint,
        log: &Channel,
        settings: &Settings,
    ) -> Result<Self, TargetError> {
        let Address::Url(url) = &target.address else {
            return Err(TargetError::Invalid("an A2A agent is at a URL, and no process".to_owned()));
        };
        let fail = |error| TargetError::of_client("connect", error, settings.connect_timeout);
        let client = client_options(target, settings)
            .and_then(|options| A2aClient::new(url, settings.a2a_version, options))
            .map_err(fail)?;
        wait_until_accepts(url, Instant::now() + settings.connect_timeout).await.map_err(fail)?;
        let endpoint = client.endpoint(None);
        let (log, settings) = (log.clone(), *settings);
        Ok(Self {
            client,
            endpoint,
            log,
            settings,
            ids: Ids::default(),
            session: session(),
            context: None,
            task: None,
            said: 0,
        })
    }

    /// The card, where there is one. It says where messages go, on the host that the user named.
    pub(super) async fn card(&mut self) -> Result<Option<Value>, TargetError> {
        self.log.said(Spoken::new(&[CARD], Kind::Request, CONNECTION, b"{}"))?;
        let fetched = self.client.card().await;
        let fetched =
            fetched.map_err(|error| TargetError::of_client(CARD, error, self.settings.answer_timeout))?;
        let kind = if fetched.status.is_success() { Kind::Response } else { Kind::Error };
        let content = if fetched.body.is_empty() {
            None
        } else {
            Some(self.log.heard(Spoken::new(&[CARD], kind, CONNECTION, &fetched.body))?)
        };
        if !fetched.status.is_success() {
            return match fetched.status {
                StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(None),
                status => Err(TargetError::status(CARD, status, &fetched.body)),
            };
        }
        let Some(content) = content else { return Ok(None) };
        self.endpoint = self.client.endpoint(Some(&fetched.body));
        json(CARD, &content).map(Some)
    }

    pub(super) async fn say(&mut self, text: &str) -> Result<(), TargetError> {
        self.said += 1;
        let mut message = json!({
            "kind": "message", "role": "user", "messageId": format!("{}-{}", self.session, self.said),
            "parts": [{"kind": "text", "text": text}],
        });
        for (key, value) in [("contextId", &self.context), ("taskId", &self.task)] {
            if let Some(value) = value {
                message[key] = value.as_str().into();
            }
        }
        let deadline = Instant::now() + self.settings.answer_timeout;
        let params =
            json!({"message": message, "configuration": {"blocking": true, "acceptedOutputModes": ["text"]}});
        let Ok(mut result) = self.call(SEND, &params).await? else { return Ok(()) };
        while is_at_work(&result) {
            if Instant::now() >= deadline {
                return Err(TargetError::timed_out("the task", self.settings.answer_timeout));
            }
            tokio::time::sleep(PAUSE).await;
            result = match self.call(GET, &json!({"id": result["id"]})).await? {
                Ok(result) => result,
                Err(_) => return Ok(()),
            };
        }
        self.context = result["contextId"].as_str().map(str::to_owned).or(self.context.take());
        let state = result["status"]["state"].as_str().unwrap_or_default();
        self.task = (state == "input-required").then(|| result["id"].as_str().map(str::to_owned)).flatten();
        Ok(())
    }

    /// A request, and its result or the error in place of one.
    async fn call(&self, method: &str, params: &Value) -> Result<Result<Value, Value>, TargetError> {
        let id = self.ids.fresh();
        let request = A2aRequest::new(method, Some(params.to_string()), self.endpoint.version);
        let message = jsonrpc::request(&id, &request.method, request.params.as_deref());
        let id: Value = serde_json::from_str(&id).unwrap_or_default();
        let surfaces = request.surfaces();
        let spoken = Spoken::new(&surfaces, Kind::Request, CONNECTION, &message);
        self.log.said(Spoken { id: Some(&id), ..spoken })?;
        let response = self.client.call(&self.endpoint, false, message).await;
        let response =
            response.map_err(|error| TargetError::of_client(method, error, self.settings.answer_timeout))?;
        let Response { status, body: Answer::Bytes(body), .. } = response else {
            return Err(TargetError::protocol(
                method,
                "the answer is a stream, but the request did not ask for one",
            ));
        };
        let read = jsonrpc::read(&body, &self.settings.limits);
        let is_error = matches!(read, Ok(Incoming::Error { .. })) || !status.is_success();
        let kind = if is_error { Kind::Error } else { Kind::Response };
        let spoken = Spoken::new(&surfaces, kind, CONNECTION, &body);
        let content = self.log.heard(Spoken { id: Some(&id), ..spoken })?;
        let mut answer = match json(method, &content) {
            Ok(answer) => answer,
            Err(_) if !status.is_success() => return Err(TargetError::status(method, status, &body)),
            Err(error) => return Err(error),
        };
        match (answer.get("result").is_some(), answer.get("error").is_some()) {
            (true, _) => {
                let result = request.result(&answer["result"].to_string());
                // It was read before, and only its words are others.
                Ok(Ok(serde_json::from_str(&result).unwrap_or_default()))
            }
            (false, true) => Ok(Err(answer["error"].take())),
            _ if !status.is_success() => Err(TargetError::status(method, status, &body)),
            _ => Err(TargetError::protocol(method, "the answer has neither `result` nor `error`")),
        }
    }
}

fn is_at_work(result: &Value) -> bool {
    result["kind"] == "task" && matches!(result["status"]["state"].as_str(), Some("submitted" | "working"))
}

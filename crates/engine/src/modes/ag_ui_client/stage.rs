//! One agent, and what is played to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use sortie_trace::{ActorFailure, Kind};
use sortie_wire::Members;
use sortie_wire::ag_ui::{AgentCall, RunInput, ToolResult};
use sortie_wire::http::{Answer, Client, ClientError, EventStream, Response};
use tokio_util::sync::CancellationToken;

use crate::actor::{ActorState, Spoken};
use crate::modes::client::{Hold, Responses};
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;
use crate::run::RunOptions;
use crate::synthesis::{Shape, Synthesis};
use sortie_evaluators::cases::excerpt;

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) actor: Arc<ActorState>,
    pub(super) scripts: Vec<Script>,
    pub(super) hold: Arc<Hold>,
    pub(super) options: RunOptions,
    /// Cancelled when the target does not take what we send.
    pub(super) refused: CancellationToken,
    client: Client,
    url: String,
    runs: AtomicUsize,
}

/// What a run is answered with.
#[derive(Debug)]
pub(super) enum Events {
    /// As it happens.
    Stream(Box<EventStream>),
    /// All at once, since the target does not call it a stream.
    Whole(Bytes),
}

impl Stage {
    pub(super) fn new(
        actor: Arc<ActorState>,
        scripts: Vec<Script>,
        hold: Arc<Hold>,
        (client, url): (Client, String),
        options: RunOptions,
    ) -> Arc<Self> {
        let refused = CancellationToken::new();
        Arc::new(Self { actor, scripts, hold, options, refused, client, url, runs: AtomicUsize::new(0) })
    }

    /// A name of ours for the next run.
    pub(super) fn next_run(&self) -> String {
        format!("run-{}", self.runs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Asks for a run. `None` when the answer is none, which is recorded: the actor cannot go on.
    pub(super) async fn ask(&self, phase: &Arc<ActorPhase>, connection: &str, body: &str) -> Option<Events> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let (status, body) = match self.client.post(&self.url, headers, body).await {
            Ok(Response { status, body: Answer::Events(events), .. }) if status.is_success() => {
                return Some(Events::Stream(events));
            }
            Ok(Response { status, body: Answer::Bytes(bytes), .. }) => (status, bytes),
            Ok(Response { status, .. }) => (status, Bytes::new()),
            Err(ClientError::Refused(reason)) => {
                return self
                    .refuse(ActorFailure::TargetRefused, &format!("the target is not there: {reason}"));
            }
            Err(error) => return self.refuse(ActorFailure::ProtocolError, &error.to_string()),
        };
        if status.is_success() && is_like_events(&body) {
            self.actor.warn("the target's events are not called `text/event-stream`");
            return Some(Events::Whole(body));
        }
        if !body.is_empty() {
            let kind = if status.is_success() { Kind::Response } else { Kind::Error };
            let spoken = Spoken::new(&["run_agent_input"], kind, connection, &body);
            self.hold.heard(self.actor.heard_in(phase, &[], spoken));
        }
        let shown = if body.is_empty() { String::new() } else { format!(": {}", excerpt(&body)) };
        if status.is_success() {
            return self
                .refuse(ActorFailure::ProtocolError, &format!("the answer is no stream of events{shown}"));
        }
        let redirect = if status.is_redirection() { ", which is not followed" } else { "" };
        let what = format!("the target answered with HTTP status {}{redirect}{shown}", status.as_u16());
        self.refuse(ActorFailure::TargetRefused, &what)
    }

    fn refuse(&self, word: ActorFailure, message: &str) -> Option<Events> {
        self.actor.failed(word, message);
        self.refused.cancel();
        None
    }
}

/// Whether a body begins as a stream of events does.
fn is_like_events(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| body.starts_with(field.as_bytes()))
}

/// What a phase does, read once, before anything is said.
#[derive(Debug)]
pub(super) struct Script {
    input: WirePayload,
    synthesis: Option<Synthesis>,
    responses: Responses,
}

impl Script {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, String> {
        let input = phase.key("run_agent_input").filter(|input| !input.value().is_null());
        let input = input.ok_or("there is no `run_agent_input`, which is required")?;
        let synthesis = Synthesis::of(&input, Shape::Messages);
        let input = input.without(&["synthesize"]);
        // Templates do not change which members there are.
        RunInput::read(input.text()).map_err(|error| format!("`run_agent_input`: {error}"))?;
        let responses = Responses::new(phase.key("tool_responses").as_ref(), "tool_responses")?;
        Ok(Self { input, synthesis, responses })
    }

    /// The body that asks for a run, its messages generated where the phase wants that.
    pub(super) fn body(&self, actor: &ActorState) -> Result<String, TooLarge> {
        let body = actor.fill(&self.input, None, None)?.into_owned();
        let generated = self.synthesis.as_ref().and_then(|wanted| wanted.generate(actor, None));
        Ok(generated.and_then(|generated| with_messages(&body, &generated)).unwrap_or(body))
    }

    /// What a call is answered with: what the document has for it, else an empty result. `start` is the event that began it.
    pub(super) fn result(&self, actor: &ActorState, call: &AgentCall, start: &Value) -> ToolResult {
        let entry = self.responses.select(start);
        let content = entry.and_then(|entry| entry.get("content"));
        let content = content.filter(|content| !content.value().is_null());
        let wanted = entry.and_then(|entry| Synthesis::of(entry, Shape::ToolMessage));
        if content.is_none() && wanted.is_none() {
            return ToolResult::new(call, "\"\"");
        }
        let mut request = start.clone();
        if let Value::Object(request) = &mut request {
            let arguments = serde_json::from_str(&call.arguments);
            let arguments = arguments.unwrap_or_else(|_| Value::from(call.arguments.as_str()));
            request.insert("_arguments".to_owned(), arguments);
        }
        if let Some(generated) = wanted.and_then(|wanted| wanted.generate(actor, Some(&request))) {
            return ToolResult::new(call, &generated);
        }
        let Some(content) = content else { return ToolResult::new(call, "\"\"") };
        match actor.fill(&content, Some(&request), None) {
            Ok(filled) => ToolResult::new(call, &filled),
            // A warning says so.
            Err(_) => ToolResult::new(call, "\"\""),
        }
    }
}

/// The same body with other messages. `None` when one of them is no object, which has been looked at.
fn with_messages(body: &str, generated: &str) -> Option<String> {
    let messages = Members::read(generated)?.get("messages")?.to_owned();
    let mut body = Members::read(body)?;
    body.set("messages", &messages);
    Some(body.to_string())
}

//! One agent, what is played to it, and its runs: one that a phase asks for, and those that bring the results of its calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use sortie_evaluators::cases::excerpt;
use sortie_trace::{ActorFailure, Direction, Kind};
use sortie_wire::Members;
use sortie_wire::ag_ui::{AgentCall, AgentEvent, AgentRun, RunInput, ToolResult, follow_up};
use sortie_wire::http::{Answer, Client, ClientError, EventStream, Response, StreamError};
use sortie_wire::sse::TooLong;
use tokio_util::sync::CancellationToken;

use crate::actor::{ActorState, HeardMessage, Spoken};
use crate::modes::StateError;
use crate::modes::client::{Hold, Responses};
use crate::payload::{TooLarge, WirePayload};
use crate::phase::ActorPhase;
use crate::run::RunOptions;
use crate::synthesis::{Shape, Synthesis};

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) actor: Arc<ActorState>,
    pub(super) scripts: Vec<Script>,
    pub(super) hold: Arc<Hold>,
    pub(super) options: RunOptions,
    /// Cancelled when the target does not take what we send.
    pub(super) refused: CancellationToken,
    pub(super) client: Client,
    pub(super) url: String,
    /// How many were asked for.
    pub(super) runs: AtomicUsize,
}

impl Stage {
    /// Asks for a run. `None` when the answer is none, which is recorded: the actor cannot go on.
    pub(super) async fn ask(
        &self,
        phase: &Arc<ActorPhase>,
        connection: &str,
        body: &str,
    ) -> Option<Box<EventStream>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let (status, body) = match self.client.post(&self.url, headers, body).await {
            Ok(Response { status, body: Answer::Events(events), .. }) if status.is_success() => {
                return Some(events);
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
            return Some(Box::new(EventStream::whole(body, &self.options.limits)));
        }
        if !body.is_empty() {
            let kind = if status.is_success() { Kind::Response } else { Kind::Error };
            let spoken = Spoken::new(&["run_agent_input"], kind, connection, &body);
            self.hold.heard(self.actor.heard_in(phase, &[], spoken));
        }
        let shown = if body.is_empty() { String::new() } else { format!(": {}", excerpt(&body)) };
        if status.is_success() {
            return self.refuse(
                ActorFailure::ProtocolError,
                &format!("the answer is not a stream of events{shown}"),
            );
        }
        let redirect = if status.is_redirection() { ", which is not followed" } else { "" };
        let what = format!("the target answered with HTTP status {}{redirect}{shown}", status.as_u16());
        self.refuse(ActorFailure::TargetRefused, &what)
    }

    fn refuse(&self, word: ActorFailure, message: &str) -> Option<Box<EventStream>> {
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
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, StateError> {
        let input = phase.key("run_agent_input").filter(|input| !input.value().is_null());
        let input = input.ok_or(StateError::NoRunInput)?;
        let synthesis = Synthesis::of(&input, Shape::Messages);
        let input = input.without(&["synthesize"]);
        // Templates do not change which members there are.
        RunInput::read(input.text())?;
        let responses = Responses::new(phase, "tool_responses")?;
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

/// The same body with other messages. `None` when one of them is not an object, which has been looked at.
fn with_messages(body: &str, generated: &str) -> Option<String> {
    let messages = Members::read(generated)?.get("messages")?.to_owned();
    let mut body = Members::read(body)?;
    body.set("messages", &messages);
    Some(body.to_string())
}

/// What has been heard of one run.
struct Run {
    phase: Arc<ActorPhase>,
    connection: String,
    input: Option<RunInput>,
    /// The phase has no other run to ask for.
    is_last: bool,
    said: AgentRun,
    /// The events that began calls, by the id of the call.
    starts: HashMap<String, Value>,
    /// The agent said that the run is over.
    finished: bool,
    /// It went wrong: nobody waits for results.
    failed: bool,
}

impl Stage {
    /// Asks for a run and hears it to its end; as long as the agent calls tools of ours, asks again with their results.
    /// `is_last` when the phase has no other run to ask for.
    pub(super) async fn run(self: Arc<Self>, phase: Arc<ActorPhase>, mut body: String, is_last: bool) {
        let _working = self.actor.working();
        let first_id = RunInput::read(&body).map(|input| input.run_id).unwrap_or_default();
        let mut results = Vec::new();
        let mut number = 1;
        loop {
            let connection = format!("run-{}", self.runs.fetch_add(1, Ordering::Relaxed) + 1);
            let said = self.say(&phase, &connection, &results, &body);
            let Some(events) = self.ask(&phase, &connection, &body).await else { return };
            if is_last {
                self.hold.done(phase.index);
            }
            for heard in said {
                self.hold.heard(heard);
            }
            let mut run = Run {
                phase: phase.clone(),
                connection,
                input: RunInput::read(&body).ok(),
                is_last,
                said: AgentRun::new(self.options.limits.message_bytes),
                starts: HashMap::new(),
                finished: false,
                failed: false,
            };
            self.hear(&mut run, events).await;
            let Some(next) = self.follow_up(&run, number, &first_id) else { break };
            (body, results) = next;
            number += 1;
        }
        if is_last {
            self.hold.done(phase.index);
        }
    }

    /// Records what is about to be sent. Results are events too: each is recorded by itself, and then the run that brings
    /// them.
    fn say(
        &self,
        phase: &Arc<ActorPhase>,
        connection: &str,
        results: &[ToolResult],
        body: &str,
    ) -> Vec<HeardMessage> {
        let results = results.iter().map(|ToolResult(result)| {
            let surfaces = ["tool_call_result"];
            let spoken = Spoken::new(&surfaces, Kind::Event, connection, result.as_bytes());
            self.actor.said_event(phase, &surfaces, Spoken { direction: Direction::Request, ..spoken })
        });
        let mut said: Vec<_> = results.collect();
        let surfaces = ["run_agent_input"];
        let spoken = Spoken::new(&surfaces, Kind::Request, connection, body.as_bytes());
        said.push(self.actor.said_event(phase, &surfaces, spoken));
        said
    }

    /// Hears a stream to its end, however long it lasts.
    async fn hear(&self, run: &mut Run, mut events: Box<EventStream>) {
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.event(run, &event.data),
                // It may be the very event that an indicator looks for, and a piece of a call may be missing.
                Err(StreamError::TooLong(TooLong(limit))) => {
                    run.failed = true;
                    let what = format!("an event longer than {limit} bytes was passed over");
                    self.actor.failed(ActorFailure::ProtocolError, &what);
                }
                Err(StreamError::Broken(reason)) => {
                    run.failed = true;
                    let what = format!("the stream of a run broke off: {reason}");
                    self.actor.failed(ActorFailure::ProtocolError, &what);
                }
            }
        }
        // Agents forget the empty line after their last event.
        if let Some(event) = events.decoder().unfinished() {
            self.event(run, &event.data);
        }
        if !run.finished && !run.failed {
            self.actor.warn("a stream ended without saying that the run is over");
        }
    }

    fn event(&self, run: &mut Run, data: &Bytes) {
        if data.is_empty() {
            return;
        }
        let event = AgentEvent::read(data);
        let names: Vec<&str> = event.name.as_deref().into_iter().collect();
        if names.is_empty() {
            self.actor.warn("the target sent what is not an event");
        }
        let spoken = Spoken::new(&names, Kind::Event, &run.connection, data);
        let heard = self.actor.heard_in(&run.phase, &names, spoken);
        match event.name.as_deref() {
            Some("run_finished") => run.finished = true,
            Some("run_error") => run.failed = true,
            _ => {}
        }
        if let Some(call) = run.said.observe(&event, data) {
            run.starts.insert(call.id.clone(), heard.content.clone());
        }
        // What fires a trigger is answered by the phase that it fired in: results are sent first.
        if run.is_last && heard.has_fired() && !run.failed && run.calls_us() {
            self.hold.wait(run.phase.index);
        }
        self.hold.heard(heard);
    }

    /// The run that brings the results of the calls of another: its body, and the results.
    fn follow_up(&self, run: &Run, number: usize, first_id: &str) -> Option<(String, Vec<ToolResult>)> {
        if run.said.is_cut() {
            self.actor.warn("a run said too much, so the calls in it get no results");
            return None;
        }
        if run.failed || !run.calls_us() {
            return None;
        }
        let input = run.input.as_ref()?;
        if number > self.options.follow_ups {
            self.actor.warn(&format!(
                "the agent calls tools again and again; after run {number} it gets no results"
            ));
            return None;
        }
        if self.hold.timed_out(run.phase.index) {
            let phase = &run.phase.name;
            self.actor.warn(&format!(
                "the time of phase `{phase}` was up before the results of its calls were sent"
            ));
            return None;
        }
        let script = &self.scripts[run.phase.index];
        let results = run.said.unanswered(&input.tools).map(|call| {
            let start = run.starts.get(&call.id).unwrap_or(&Value::Null);
            script.result(&self.actor, &call, start)
        });
        let results: Vec<_> = results.collect();
        let run_id = format!("{first_id}-{}", number + 1);
        Some((follow_up(input, &run_id, &run.said, &results), results))
    }
}

impl Run {
    /// Whether the agent waits for results of ours.
    fn calls_us(&self) -> bool {
        let tools = self.input.as_ref().map(|input| &input.tools[..]).unwrap_or_default();
        self.said.unanswered(tools).next().is_some()
    }
}

//! One run of an agent, and those that bring it the results of its calls.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use sortie_trace::{ActorFailure, Direction, Kind};
use sortie_wire::ag_ui::{AgentEvent, AgentRun, RunInput, ToolResult, follow_up};
use sortie_wire::http::{EventStream, StreamError};
use sortie_wire::sse::Decoder;

use super::stage::{Events, Stage};
use crate::actor::{HeardMessage, Spoken};
use crate::phase::ActorPhase;

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
            let connection = self.next_run();
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
            match events {
                Events::Stream(events) => self.hear(&mut run, events).await,
                Events::Whole(bytes) => self.hear_whole(&mut run, bytes),
            }
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
                Err(StreamError::TooLong(too_long)) => self.too_long(run, too_long.0),
                Err(StreamError::Broken(reason)) => {
                    run.failed = true;
                    self.actor.failed(
                        ActorFailure::ProtocolError,
                        &format!("the stream of a run broke off: {reason}"),
                    );
                }
            }
        }
        self.ended(run, events.decoder());
    }

    /// The same for a stream that came in one piece.
    fn hear_whole(&self, run: &mut Run, bytes: Bytes) {
        let mut decoder = Decoder::new(&self.options.limits);
        decoder.push(bytes);
        while let Some(event) = decoder.next_event() {
            match event {
                Ok(event) => self.event(run, &event.data),
                Err(too_long) => self.too_long(run, too_long.0),
            }
        }
        self.ended(run, &mut decoder);
    }

    fn ended(&self, run: &mut Run, decoder: &mut Decoder) {
        // Agents forget the empty line after their last event.
        if let Some(event) = decoder.unfinished() {
            self.event(run, &event.data);
        }
        if !run.finished && !run.failed {
            self.actor.warn("a stream ended without saying that the run is over");
        }
    }

    fn too_long(&self, run: &mut Run, limit: usize) {
        // It may be the very event that an indicator looks for, and a piece of a call may be missing.
        run.failed = true;
        self.actor.failed(
            ActorFailure::ProtocolError,
            &format!("an event longer than {limit} bytes was passed over"),
        );
    }

    fn event(&self, run: &mut Run, data: &Bytes) {
        if data.is_empty() {
            return;
        }
        let event = AgentEvent::read(data);
        let names: Vec<&str> = event.name.as_deref().into_iter().collect();
        if names.is_empty() {
            self.actor.warn("the target sent what is no event");
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
            script.result(&self.actor, call, start)
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

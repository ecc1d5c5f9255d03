//! What an actor makes of the messages that pass between the agent and a real server.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_rewrite::{Change, Operations, RequestOutcome, ResponseOutcome, Unreadable};
use sortie_trace::wrapped::{CutMessage, MessageChange, WrappedInfo};
use sortie_trace::{ActorFailure, Kind};
use sortie_wire::mcp::relay::{Crossing, Onward, Overlong, Passage, RelayFault, RelaySide, Tap};

use crate::actor::{ActorState, HeardMessage, Spoken};
use crate::phase::ActorPhase;

/// An actor, and the operations of its phases.
#[derive(Debug)]
pub(super) struct WrappedActor {
    actor: Arc<ActorState>,
    operations: Vec<Operations>,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) enum Asked {
    /// The agent asked. The phase ends with the answer, if the request ends it.
    Agent {
        heard: HeardMessage,
        /// The request as the agent sent it, where operations look at the answer.
        request: Option<String>,
    },
    /// The server asked, and this phase passed it on.
    Server(Arc<ActorPhase>),
}

impl WrappedActor {
    pub(super) fn new(actor: Arc<ActorState>, operations: Vec<Operations>) -> Self {
        Self { actor, operations }
    }

    fn operations(&self, phase: &ActorPhase) -> Option<&Operations> {
        self.operations.get(phase.index)
    }

    /// The agent asks: what operations do with that is in the record, so they are asked before it is written. The templates of
    /// an answer may refer to what the request itself brought, so that is made afterwards.
    fn asked(&self, crossing: &Crossing<'_>) -> (Asked, Passage) {
        let params = crossing.body.map_or("{}", RawValue::get);
        let text = String::from_utf8_lossy(crossing.bytes);
        let touched = |phase: &ActorPhase| self.operations(phase).filter(|own| own.touches(crossing.method));
        let before = touched(&self.actor.phase()).map(|own| self.on_request(own, crossing.method, &text));
        let changes = before.as_ref().map(|outcome| request_changes(outcome, &text)).unwrap_or_default();
        let events = match crossing.method {
            // A client of 2026-07-28 asks this where those before it shook hands.
            "server/discover" => &["initialize", "server/discover"][..],
            method => &[method],
        };
        let (id, surfaces, info) = (id(crossing), [crossing.method], changed(changes));
        let spoken = Spoken { wrapped: info.as_ref(), ..spoken(crossing, &surfaces, id.as_ref()) };
        let heard = self.actor.heard_body(events, spoken, params);
        let operations = touched(&heard.phase);
        let passage = match before {
            Some(RequestOutcome::Forward(rewritten)) => Onward::Changed(rewritten.message.into()).into(),
            Some(RequestOutcome::Drop { .. }) => Onward::Nothing.into(),
            Some(RequestOutcome::Answer { .. }) => {
                let again = operations.map(|own| self.on_request(own, crossing.method, &text));
                self.answer_instead(crossing, &heard, again)
            }
            Some(RequestOutcome::Pass) | None => Passage::PASS,
        };
        let request = operations.map(|_| text.into_owned());
        (Asked::Agent { heard, request }, passage)
    }

    fn on_request(&self, operations: &Operations, method: &str, text: &str) -> RequestOutcome {
        let outcome = operations.on_request(method, text, &mut |template, request, response| {
            self.actor.fill_text(template, Some(request), response)
        });
        outcome.unwrap_or_else(|error| {
            self.warn_unchanged(method, error);
            RequestOutcome::Pass
        })
    }

    /// Answers in the place of the server.
    fn answer_instead(
        &self,
        crossing: &Crossing<'_>,
        heard: &HeardMessage,
        outcome: Option<RequestOutcome>,
    ) -> Passage {
        let Some(RequestOutcome::Answer { message, operation, delay }) = outcome else {
            return Passage::PASS;
        };
        let change = whole(operation, None, Some(&message));
        let (id, surfaces, info) = (id(crossing), [crossing.method], changed(vec![change]));
        let spoken = Spoken::new(&surfaces, Kind::Response, crossing.connection, message.as_bytes());
        self.actor.said(&heard.phase, Spoken { id: id.as_ref(), wrapped: info.as_ref(), ..spoken });
        Passage { onward: Onward::Answered(message.into()), delay }
    }

    /// The server answers the agent.
    fn answered(&self, crossing: &Crossing<'_>, heard: &HeardMessage, request: Option<&str>) -> Passage {
        let text = String::from_utf8_lossy(crossing.bytes);
        let outcome = self.operations(&heard.phase).zip(request).map(|(own, request)| {
            own.on_response(crossing.method, request, &text, &mut |template, request, response| {
                self.actor.fill_text(template, Some(request), response)
            })
        });
        let outcome = outcome.and_then(|outcome| {
            outcome.inspect_err(|error| self.warn_unchanged(crossing.method, *error)).ok()
        });
        let (passage, changes) = match outcome {
            None => (Passage::PASS, Vec::new()),
            Some(ResponseOutcome::Pass { delay }) => (Passage { onward: Onward::Same, delay }, Vec::new()),
            Some(ResponseOutcome::Forward { rewritten, delay }) => {
                let changes = rewritten.changes.into_iter().map(recorded).collect();
                (Passage { onward: Onward::Changed(rewritten.message.into()), delay }, changes)
            }
            Some(ResponseOutcome::Drop { operation }) => {
                (Onward::Nothing.into(), vec![whole(operation, Some(&text), None)])
            }
        };
        let got: &[u8] = match &passage.onward {
            Onward::Changed(message) => message,
            Onward::Nothing => b"null",
            Onward::Same | Onward::Answered(_) => crossing.bytes,
        };
        let (id, surfaces, info) = (id(crossing), [crossing.method], changed(changes));
        let spoken =
            Spoken { bytes: got, wrapped: info.as_ref(), ..spoken(crossing, &surfaces, id.as_ref()) };
        self.actor.said(&heard.phase, spoken);
        passage
    }

    fn warn_unchanged(&self, method: &str, why: Unreadable) {
        self.actor.warn(&format!("a message of `{method}` passes as it is: {why}"));
    }
}

impl Tap for WrappedActor {
    type Asked = Asked;

    fn request(&self, crossing: &Crossing<'_>) -> (Asked, Passage) {
        match crossing.side {
            RelaySide::Client => self.asked(crossing),
            RelaySide::Server => {
                let phase = self.actor.phase();
                let id = id(crossing);
                self.actor.said(&phase, spoken(crossing, &[crossing.method], id.as_ref()));
                (Asked::Server(phase), Passage::PASS)
            }
        }
    }

    fn may_change(&self, asked: &Asked) -> bool {
        matches!(asked, Asked::Agent { request: Some(_), .. })
    }

    fn answer(&self, crossing: &Crossing<'_>, asked: &Asked) -> Passage {
        match asked {
            Asked::Agent { heard, request } => self.answered(crossing, heard, request.as_deref()),
            Asked::Server(phase) => {
                let id = id(crossing);
                self.actor.heard_in(phase, &[], spoken(crossing, &[crossing.method], id.as_ref()));
                Passage::PASS
            }
        }
    }

    fn other(&self, crossing: &Crossing<'_>) -> Passage {
        let (id, surfaces) = (id(crossing), [crossing.method]);
        let surfaces: &[&str] = if crossing.method.is_empty() { &[] } else { &surfaces };
        let spoken = spoken(crossing, surfaces, id.as_ref());
        match (crossing.side, crossing.body.map(RawValue::get)) {
            (RelaySide::Server, _) => self.actor.said(&self.actor.phase(), spoken),
            (RelaySide::Client, body) if !crossing.method.is_empty() => {
                self.actor.heard_body(surfaces, spoken, body.unwrap_or("{}"));
            }
            (RelaySide::Client, _) => drop(self.actor.heard(&[], spoken)),
        }
        Passage::PASS
    }

    fn overlong(&self, overlong: &Overlong<'_>, asked: Option<&Asked>) {
        let crossing = &overlong.crossing;
        if asked.is_some_and(|asked| self.may_change(asked)) {
            self.actor.warn(&format!(
                "an answer to `{}` of {} bytes is too long for operations: it passed as it is",
                crossing.method, overlong.length
            ));
        }
        let cut = CutMessage { bytes: overlong.length, sha256: overlong.sha256.to_owned() };
        let info = WrappedInfo { changes: Vec::new(), cut: Some(cut) };
        let (id, surfaces) = (id(crossing), [crossing.method]);
        let surfaces: &[&str] = if crossing.method.is_empty() { &[] } else { &surfaces };
        let spoken = Spoken { wrapped: Some(&info), ..spoken(crossing, surfaces, id.as_ref()) };
        match (crossing.side, asked) {
            (RelaySide::Client, _) => drop(self.actor.heard(&[], spoken)),
            (RelaySide::Server, Some(Asked::Agent { heard, .. })) => self.actor.said(&heard.phase, spoken),
            (RelaySide::Server, _) => self.actor.said(&self.actor.phase(), spoken),
        }
    }

    fn fault(&self, _: &str, fault: &RelayFault) {
        let failure = match fault {
            RelayFault::Unreachable(_) | RelayFault::ServerGone(_) => ActorFailure::ServerGone,
            RelayFault::Unanswered { .. } => ActorFailure::ServerSilent,
            _ => return self.actor.warn(&fault.to_string()),
        };
        self.actor.failed(failure, &fault.to_string());
    }
}

fn id(crossing: &Crossing<'_>) -> Option<Value> {
    crossing.id.and_then(|id| serde_json::from_str(id.get()).ok())
}

fn spoken<'s>(crossing: &Crossing<'s>, surfaces: &'s [&'s str], id: Option<&'s Value>) -> Spoken<'s> {
    Spoken { id, ..Spoken::new(surfaces, crossing.kind, crossing.connection, crossing.bytes) }
}

/// What is written beside a message that operations changed; `None` where they changed nothing.
fn changed(changes: Vec<MessageChange>) -> Option<WrappedInfo> {
    (!changes.is_empty()).then_some(WrappedInfo { changes, cut: None })
}

/// What operations do with a request, for its record.
fn request_changes(outcome: &RequestOutcome, text: &str) -> Vec<MessageChange> {
    match outcome {
        RequestOutcome::Forward(rewritten) => rewritten.changes.iter().cloned().map(recorded).collect(),
        RequestOutcome::Drop { operation } | RequestOutcome::Answer { operation, .. } => {
            vec![whole(*operation, Some(text), None)]
        }
        RequestOutcome::Pass => Vec::new(),
    }
}

/// A message that only one side knows.
fn whole(operation: usize, before: Option<&str>, after: Option<&str>) -> MessageChange {
    MessageChange::new(Some(operation), "", before, after)
}

fn recorded(change: Change) -> MessageChange {
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let recorded = MessageChange::new(change.operation, &change.path, before, after);
    MessageChange { inside: change.inside, ..recorded }
}

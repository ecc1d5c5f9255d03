//! What a document makes of a session: everything is recorded in its phase, and its phase answers.

use sortie_trace::ActorFailure;
use std::sync::Arc;

use serde_json::Value;
use sortie_wire::jsonrpc::Kind;
use sortie_wire::mcp::client::{AskError, ClientReply, Handler, Received, SessionMessage};

use super::answer::answer;
use crate::actor::{self, ActorState, Spoken};
use crate::modes::client::{Action, Hold, Responses};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;

/// Our name for the one connection that a client has.
const CONNECTION: &str = "session-1";

/// An actor that owns a session.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) actor: Arc<ActorState>,
    pub(super) scripts: Vec<Script>,
    pub(super) hold: Arc<Hold>,
}

/// A message that may end its phase, once it is dealt with.
#[derive(Debug)]
pub(super) struct PhaseGuard {
    heard: Option<actor::HeardMessage>,
    hold: Arc<Hold>,
}

impl Drop for PhaseGuard {
    fn drop(&mut self) {
        self.heard.take().into_iter().for_each(|heard| self.hold.heard(heard));
    }
}

impl Handler for Client {
    type Context = Arc<ActorPhase>;
    type Guard = PhaseGuard;

    fn said(&self, phase: &Arc<ActorPhase>, message: SessionMessage<'_>) {
        self.actor.said(phase, spoken(&surfaces(&message), &message));
    }

    /// In the phase that asked, where that is known, else in the present one.
    fn heard(
        &self,
        phase: Option<&Arc<ActorPhase>>,
        message: SessionMessage<'_>,
    ) -> Received<Arc<ActorPhase>, PhaseGuard> {
        let answers = matches!(message.kind, Kind::Response | Kind::Error) && message.incoming.is_some();
        if let Some(malformed) = message.malformed {
            self.actor.warn(&format!("the target sent what is no message: {}", malformed.message()));
        } else if answers && message.method.is_empty() {
            self.actor.warn("the target answered what was never asked");
        }
        let surfaces = surfaces(&message);
        let events: &[&str] = match message.method {
            // Without a handshake, the first answer stands for it.
            "server/discover" if answers => &["server/discover", "initialize"],
            // The body of an HTTP error is no event.
            _ if message.incoming.is_none() => &[],
            _ => &surfaces,
        };
        let spoken = spoken(&surfaces, &message);
        let mut heard = match phase {
            Some(phase) => self.actor.heard_in(phase, events, spoken),
            None => self.actor.heard(events, spoken),
        };
        Received {
            context: heard.phase.clone(),
            content: std::mem::take(&mut heard.content),
            guard: PhaseGuard { heard: Some(heard), hold: self.hold.clone() },
        }
    }

    fn answer(&self, phase: &Arc<ActorPhase>, method: &str, params: &Value) -> Option<ClientReply> {
        Some(answer(&self.actor, &self.scripts[phase.index], method, params))
    }

    fn undelivered(&self, method: &str, error: &AskError) {
        self.actor.warn(&format!("`{method}`: {error}"));
    }

    fn too_long(&self, limit: usize) {
        // It may be the very message that an indicator looks for.
        let what = format!("a message longer than {limit} bytes was passed over");
        self.actor.failed(ActorFailure::ProtocolError, &what);
    }
}

pub(crate) fn surfaces<'m>(message: &SessionMessage<'m>) -> Vec<&'m str> {
    if message.method.is_empty() { Vec::new() } else { vec![message.method] }
}

pub(crate) fn spoken<'s>(surfaces: &'s [&'s str], message: &SessionMessage<'s>) -> Spoken<'s> {
    Spoken { id: message.id, ..Spoken::new(surfaces, message.kind, CONNECTION, message.bytes) }
}

/// What a phase does, read once, before anything is said.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) actions: Vec<Action>,
    pub(super) sampling: Responses,
    pub(super) elicitation: Responses,
    pub(super) roots: Option<WirePayload>,
}

impl Script {
    /// Reads the state of a phase. What is wrong with it is said as a sentence.
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, String> {
        Ok(Self {
            actions: Action::all(phase)?,
            sampling: Responses::new(phase.key("sampling_responses").as_ref(), "sampling_responses")?,
            elicitation: Responses::new(
                phase.key("elicitation_responses").as_ref(),
                "elicitation_responses",
            )?,
            roots: phase.key("roots").filter(|roots| !roots.value().is_null()),
        })
    }
}

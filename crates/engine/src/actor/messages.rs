//! What an actor hears and says.

use std::sync::Arc;

use serde_json::Value;
use sortie_oatf::model::{AdvanceReason, ExtractorSource, TriggerResult};
use sortie_trace::wrapped::WrappedInfo;
use sortie_trace::{Content, Deriver, Direction, Kind, Message, Sender};

use super::ActorState;
use crate::phase::ActorPhase;
use crate::recorder::MessageView;

/// A message that an actor heard or says, apart from what the actor knows itself.
#[derive(Clone, Copy, Debug)]
pub struct Spoken<'s> {
    /// The operations it belongs to.
    pub surfaces: &'s [&'s str],
    /// Which half of an exchange it is.
    pub direction: Direction,
    /// What it is on the wire.
    pub kind: Kind,
    /// JSON-RPC id.
    pub id: Option<&'s Value>,
    /// A name of ours for the connection.
    pub connection: &'s str,
    /// What was on the wire.
    pub bytes: &'s [u8],
    /// What was done with it on the way, where the actor stands before a real server.
    pub wrapped: Option<&'s WrappedInfo>,
}

impl<'s> Spoken<'s> {
    /// A message without an id, in the direction that its kind has nearly always.
    pub fn new(surfaces: &'s [&'s str], kind: Kind, connection: &'s str, bytes: &'s [u8]) -> Self {
        Self { surfaces, direction: kind.into(), kind, id: None, connection, bytes, wrapped: None }
    }

    pub(crate) fn message(
        self,
        sender: Sender,
        actor: &str,
        mode: &str,
        phase: &str,
        protocol: &str,
    ) -> Message {
        Message {
            seq: 0,
            time: String::new(),
            actor: actor.to_owned(),
            mode: mode.to_owned(),
            phase: phase.to_owned(),
            protocol: protocol.to_owned(),
            surfaces: self.surfaces.iter().map(|&surface| surface.to_owned()).collect(),
            direction: self.direction,
            kind: self.kind,
            id: self.id.cloned(),
            connection: self.connection.to_owned(),
            sender,
            source: None,
            refused: None,
            wrapped: self.wrapped.cloned().map(Box::new),
            content: Content::from_wire(self.bytes),
        }
    }
}

/// A message that was heard, and the phase that deals with it.
///
/// When it fired the phase's trigger, the next phase begins once this is dropped: what fires a trigger is answered by the
/// phase it fired in.
#[derive(Debug)]
pub struct HeardMessage {
    /// The phase that it belongs to, and that answers it.
    pub phase: Arc<ActorPhase>,
    /// The message as indicators see it: params, result, or event.
    pub content: Value,
    fired: Option<(Arc<ActorState>, AdvanceReason)>,
}

impl HeardMessage {
    /// Whether it ends the phase.
    pub fn has_fired(&self) -> bool {
        self.fired.is_some()
    }

    /// Lets it go without ending the phase, since the run is over.
    pub(crate) fn forget(mut self) {
        self.fired = None;
    }
}

impl Drop for HeardMessage {
    fn drop(&mut self) {
        if let Some((actor, reason)) = self.fired.take() {
            actor.advance(self.phase.index, reason);
        }
    }
}

impl ActorState {
    /// Something was heard: it is recorded, extractors read it, and it may fire the trigger. `event` names it for the
    /// trigger; most often it is the surface.
    pub fn heard(self: &Arc<Self>, events: &[&str], spoken: Spoken<'_>) -> HeardMessage {
        self.hear(Sender::Agent, None, events, spoken, None)
    }

    /// The same for a request or notification to a server actor whose envelope was read already: `params` is JSON text.
    pub(crate) fn heard_body(
        self: &Arc<Self>,
        events: &[&str],
        spoken: Spoken<'_>,
        params: &str,
    ) -> HeardMessage {
        self.hear(Sender::Agent, None, events, spoken, Some(Deriver::body(params)))
    }

    /// The same for an answer, or an item of a stream, to what was said in an earlier phase: it is recorded as belonging to
    /// that one. Only what belongs to the present phase can end it.
    pub fn heard_in(
        self: &Arc<Self>,
        phase: &Arc<ActorPhase>,
        events: &[&str],
        spoken: Spoken<'_>,
    ) -> HeardMessage {
        self.hear(Sender::Agent, Some(phase), events, spoken, None)
    }

    /// The same for what the actor says itself, where the binding makes that an event too.
    pub fn said_event(
        self: &Arc<Self>,
        phase: &Arc<ActorPhase>,
        events: &[&str],
        spoken: Spoken<'_>,
    ) -> HeardMessage {
        self.hear(Sender::Actor, Some(phase), events, spoken, None)
    }

    /// Something was said: it is recorded, and extractors read it. `phase` is the one that says it.
    pub fn said(&self, phase: &ActorPhase, spoken: Spoken<'_>) {
        let message = spoken.message(Sender::Actor, &self.name, &self.mode, &phase.name, &self.protocol);
        let source = source(spoken.direction);
        // Answers refer to requests, so a client's deriver has to see what it asks.
        let seen = (self.is_client() || phase.extracts(source)).then(|| self.observe(&message));
        if let Some(seen) = self.context.recorder.message(message, seen) {
            self.extract(phase, source, &seen.0);
        }
    }

    /// What a message says is found out before the actor is locked, where nothing else has to be known for that: requests are
    /// read side by side (`cargo xtask bench wire`).
    fn hear(
        self: &Arc<Self>,
        sender: Sender,
        phase: Option<&Arc<ActorPhase>>,
        events: &[&str],
        spoken: Spoken<'_>,
        seen: Option<MessageView>,
    ) -> HeardMessage {
        let mut message = spoken.message(sender, &self.name, &self.mode, "", &self.protocol);
        let alone = !self.is_client() && sender == Sender::Agent;
        let seen = seen.or_else(|| alone.then(|| view(&mut Deriver::new(), &message)));
        let mut inner = self.inner.lock();
        self.expire(&mut inner);
        let phase = phase.unwrap_or(&self.phases[inner.index]).clone();
        message.phase.clone_from(&phase.name);
        let source = source(message.direction);
        let seen = seen.unwrap_or_else(|| self.observe(&message));
        // It comes back: the recorder gives back what it is given.
        let seen = self.context.recorder.message(message, Some(seen));
        let content = seen.unwrap_or_default().0;
        self.extract(&phase, source, &content);
        let mut fired = None;
        if phase.index == inner.index
            && !inner.fired
            && let Some(trigger) = &phase.trigger
        {
            let elapsed = inner.since.elapsed();
            for event in events {
                let result = trigger.evaluate(Some((event, &content)), elapsed, &mut inner.trigger);
                if let TriggerResult::Advanced { reason } = result {
                    inner.fired = true;
                    fired = Some((self.clone(), reason));
                    break;
                }
            }
        }
        HeardMessage { phase, content, fired }
    }

    /// The message as indicators see it, before anything is redacted: an attack may use what the trace must not hold.
    fn observe(&self, message: &Message) -> MessageView {
        view(&mut self.deriver.lock(), message)
    }

    fn extract(&self, phase: &ActorPhase, source: ExtractorSource, content: &Value) {
        for extractor in &phase.extractors {
            if let Some(value) = extractor.extract(content, source) {
                self.context.extracted.set(&self.name, &extractor.name, value);
            }
        }
    }
}

fn view(deriver: &mut Deriver, message: &Message) -> MessageView {
    let observed = deriver.observe(message);
    (observed.message, observed.notes)
}

fn source(direction: Direction) -> ExtractorSource {
    match direction {
        Direction::Request => ExtractorSource::Request,
        Direction::Response => ExtractorSource::Response,
    }
}

#[cfg(test)]
mod tests {
    use sortie_wire::Limits;
    use sortie_wire::jsonrpc;

    use super::*;

    /// What is seen live must be what is seen when the trace is read.
    #[test]
    fn params_are_seen_as_the_trace_shows_them() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":{"a":1},"params":{"a":1.00,"a":2}}"#,
            r#"{"jsonrpc":"2.0","id":"q","par\u0061ms":[1],"method":"x","result":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"half":"\ud800","huge":1e999}}"#,
        ] {
            let incoming = jsonrpc::read(text.as_bytes(), &Limits::default()).unwrap();
            let spoken = Spoken::new(&["x"], incoming.kind(), "c", text.as_bytes());
            let message = spoken.message(Sender::Agent, "a", "mcp_server", "p", "mcp");
            let expected = view(&mut Deriver::new(), &message);
            let body = incoming.body().map_or("{}", |body| body.get());
            assert_eq!(Deriver::body(body), expected, "{text}");
        }
    }
}

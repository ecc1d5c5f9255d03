//! What a document makes of a session: everything is recorded in its phase, and its phase answers what a server asks of its
//! client.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sortie_trace::ActorFailure;
use sortie_wire::Members;
use sortie_wire::jsonrpc::Kind;
use sortie_wire::mcp::client::{AskError, ClientReply, Handler, Received, SessionMessage};

use crate::actor::{self, ActorState, Spoken};
use crate::modes::StateError;
use crate::modes::client::{Action, Hold, Responses};
use crate::payload::WirePayload;
use crate::phase::ActorPhase;
use crate::synthesis::{Shape, Synthesis};

/// Our name for the one connection that a client has.
const CONNECTION: &str = "session-1";

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
            self.actor.warn(&format!("the target sent what is not a message: {}", malformed.message()));
        } else if answers && message.method.is_empty() {
            self.actor.warn("the target answered what was never asked");
        }
        let surfaces = surfaces(&message);
        let events: &[&str] = match message.method {
            // Without a handshake, the first answer stands for it.
            "server/discover" if answers => &["server/discover", "initialize"],
            // The body of an HTTP error is not an event.
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
    pub(super) fn new(phase: &ActorPhase) -> Result<Self, StateError> {
        Ok(Self {
            actions: Action::all(phase)?,
            sampling: Responses::new(phase, "sampling_responses")?,
            elicitation: Responses::new(phase, "elicitation_responses")?,
            roots: phase.key("roots").filter(|roots| !roots.value().is_null()),
        })
    }
}

const INTERNAL_ERROR: i64 = -32603;

fn answer(actor: &ActorState, script: &Script, method: &str, params: &Value) -> ClientReply {
    match method {
        "ping" => ClientReply::Result("{}".to_owned()),
        "roots/list" => roots(actor, script, params),
        "sampling/createMessage" => sampling(actor, script, params),
        "elicitation/create" => elicit(actor, script, params),
        _ => ClientReply::method_not_found(),
    }
}

fn roots(actor: &ActorState, script: &Script, params: &Value) -> ClientReply {
    match &script.roots {
        Some(roots) => filled(actor, roots, params, |roots| format!(r#"{{"roots":{roots}}}"#)),
        None => ClientReply::Result(r#"{"roots":[]}"#.to_owned()),
    }
}

fn sampling(actor: &ActorState, script: &Script, params: &Value) -> ClientReply {
    let entry = script.sampling.select(params);
    let wanted = entry.and_then(|entry| Synthesis::of(entry, Shape::SamplingResult));
    if let Some(generated) = wanted.and_then(|wanted| wanted.generate(actor, Some(params))) {
        return ClientReply::Result(generated);
    }
    let content = entry.and_then(|entry| entry.get("content"));
    let Some(content) = content else {
        actor.warn("the target asked for a completion, and no entry of `sampling_responses` answers it");
        return ClientReply::sampling_rejected();
    };
    filled(actor, &content, params, str::to_owned)
}

/// Without an entry that says otherwise, forms are accepted as they are.
fn elicit(actor: &ActorState, script: &Script, params: &Value) -> ClientReply {
    let plain = WirePayload::plain(json!({}));
    let entry = script.elicitation.select(params).unwrap_or(&plain);
    let action = entry.get("action").unwrap_or_else(|| WirePayload::plain(json!("accept")));
    let accepts = action.value() == "accept";
    let is_form = params["mode"].as_str().is_none_or(|mode| mode == "form");
    let mut members = vec![("action".to_owned(), action)];
    let wanted = Synthesis::of(entry, Shape::FormContent).filter(|_| accepts && is_form);
    let generated = wanted.and_then(|wanted| wanted.generate(actor, Some(params)));
    let content = match (generated, entry.get("content")) {
        (None, Some(content)) => {
            members.push(("content".to_owned(), content));
            None
        }
        // Not a payload: what a server sends is never a template of ours.
        (None, None) if accepts && is_form => Some(object(&params["requestedSchema"], 0).to_string()),
        (generated, _) => generated,
    };
    with_members(actor, &members, entry, params, content)
}

/// A result of members that a document gives; those that it has beside the ones we know are passed through too.
fn with_members(
    actor: &ActorState,
    members: &[(String, WirePayload)],
    entry: &WirePayload,
    params: &Value,
    content: Option<String>,
) -> ClientReply {
    let known = ["when", "action", "content", "synthesize"];
    let others = entry.value().as_object().into_iter().flatten().map(|(key, _)| key);
    let others = others.filter(|key| !known.contains(&key.as_str()) && !key.starts_with("x-"));
    let others = others.filter_map(|key| Some((key.clone(), entry.get(key)?)));
    let mut result = Members::default();
    for (key, payload) in members.iter().cloned().chain(others) {
        let Ok(filled) = actor.fill(&payload, Some(params), None) else { return too_large() };
        result.set(&key, &filled);
    }
    if let Some(content) = content {
        result.set("content", &content);
    }
    ClientReply::Result(result.to_string())
}

fn filled(
    actor: &ActorState,
    payload: &WirePayload,
    params: &Value,
    wrap: impl Fn(&str) -> String,
) -> ClientReply {
    match actor.fill(payload, Some(params), None) {
        Ok(filled) => ClientReply::Result(wrap(&filled)),
        Err(_) => too_large(),
    }
}

/// The peer made templates explode. It gets no answer that large; a warning says so.
fn too_large() -> ClientReply {
    ClientReply::Error { code: INTERNAL_ERROR, message: "Internal error".to_owned() }
}

/// How deep a schema is looked into; those of elicitation are flat.
const MAX_DEPTH: usize = 8;

/// The content of a form that is accepted as it is: the defaults of its schema, and the least that required fields
/// without one accept.
fn object(schema: &Value, depth: usize) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut content = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = property.get("default") {
            content.insert(name.clone(), default.clone());
        } else if required.contains(&name.as_str()) {
            content.insert(name.clone(), least(property, depth + 1));
        }
    }
    Value::Object(content)
}

/// Something that a field accepts, as far as its type says what that is.
fn least(property: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    if let Some(first) = property["enum"].get(0) {
        return first.clone();
    }
    let choices = property.get("oneOf").or_else(|| property.get("anyOf"));
    if let Some(first) = choices.and_then(|choices| choices.get(0)?.get("const")) {
        return first.clone();
    }
    match property["type"].as_str() {
        Some("boolean") => json!(false),
        Some("integer" | "number") => property.get("minimum").cloned().unwrap_or(json!(0)),
        Some("array") => json!([]),
        Some("object") => object(property, depth),
        _ => json!(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_accepted_with_its_defaults_and_no_more_than_it_requires() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "default": "Ada"},
                "score": {"type": "number", "default": 95.5},
                "plan": {"type": "string", "enum": ["free", "paid"]},
                "seats": {"type": "integer", "minimum": 2},
                "note": {"type": "string"}
            },
            "required": ["name", "plan", "seats"]
        });
        assert_eq!(object(&schema, 0), json!({"name": "Ada", "score": 95.5, "plan": "free", "seats": 2}));
    }

    #[test]
    fn what_is_no_schema_has_no_defaults() {
        for schema in [json!(null), json!("x"), json!({"properties": 3}), json!({"required": ["x"]})] {
            assert_eq!(object(&schema, 0), json!({}), "{schema}");
        }
    }
}

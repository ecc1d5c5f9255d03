//! Answers to what a server asks of its client.

use serde_json::{Map, Value, json};
use sortie_wire::Members;
use sortie_wire::mcp::client::ClientReply;

use super::client::Script;
use crate::actor::ActorState;
use crate::payload::WirePayload;
use crate::synthesis::{Shape, Synthesis};

const INTERNAL_ERROR: i64 = -32603;

/// The answer of a phase to a request of the server.
pub(super) fn answer(actor: &ActorState, script: &Script, method: &str, params: &Value) -> ClientReply {
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

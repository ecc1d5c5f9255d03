//! From the words of one version to those of the other.

use serde_json::Value;
use serde_json::value::RawValue;

use super::A2aVersion;
use super::card::complete_card;
use super::part;
use super::shape::{Field, Object, PROTO_NAMES, Shape};
use crate::Members;

/// A value of one version, as JSON text, in the words of another. What does not look like it should stays as it is.
///
/// It goes as deep as the table does, whatever the value is.
pub(super) fn rewrite(shape: &Shape, json: &str, to: A2aVersion) -> String {
    let written = match shape {
        Shape::Same => None,
        Shape::Word(words) => word(words, json, to),
        Shape::Negated => negated(json),
        Shape::Only => only(json, to),
        Shape::Part => part::rewrite(json, to),
        Shape::Card => Some(complete_card(json, to)),
        Shape::Object(object) => {
            Members::read(json).map(|members| rewrite_object(object, &members, to).to_string())
        }
        Shape::List(of) => list(of, json, to),
        Shape::Page(member, of) => page(member, of, json, to),
        Shape::OneOf(objects) => one_of(objects, json, to),
    };
    written.unwrap_or_else(|| json.to_owned())
}

fn word(words: &[(&str, &str)], json: &str, to: A2aVersion) -> Option<String> {
    let said: String = serde_json::from_str(json).ok()?;
    let word = match to {
        A2aVersion::V1_0 => words.iter().find(|(old, _)| *old == said)?.1,
        A2aVersion::V0_3 => words.iter().find(|(_, new)| *new == said)?.0,
    };
    Some(Value::from(word).to_string())
}

fn negated(json: &str) -> Option<String> {
    let flag: bool = serde_json::from_str(json).ok()?;
    Some((!flag).to_string())
}

fn only(json: &str, to: A2aVersion) -> Option<String> {
    match to {
        A2aVersion::V1_0 => {
            let [item] = items(json)?[..] else { return None };
            Some(item.to_owned())
        }
        A2aVersion::V0_3 => json.trim_start().starts_with('"').then(|| format!("[{json}]")),
    }
}

fn list(of: &Shape, json: &str, to: A2aVersion) -> Option<String> {
    let items: Vec<_> = items(json)?.into_iter().map(|item| rewrite(of, item, to)).collect();
    Some(format!("[{}]", items.join(",")))
}

fn page(member: &str, of: &Shape, json: &str, to: A2aVersion) -> Option<String> {
    match to {
        A2aVersion::V1_0 => Some(format!("{{{}:{}}}", Value::from(member), list(of, json, to)?)),
        A2aVersion::V0_3 => list(of, Members::read(json)?.get(member)?, to),
    }
}

fn one_of(objects: &[(&str, &Object)], json: &str, to: A2aVersion) -> Option<String> {
    let members = Members::read(json)?;
    match to {
        A2aVersion::V1_0 => {
            let kind = members.string("kind").or_else(|| likely_kind(&members).map(str::to_owned))?;
            let (name, object) = objects.iter().find(|(_, object)| object.kind == Some(kind.as_str()))?;
            Some(format!("{{{}:{}}}", Value::from(*name), rewrite_object(object, &members, to)))
        }
        A2aVersion::V0_3 => {
            let mut all = members.iter();
            let (Some((name, json)), None) = (all.next(), all.next()) else { return None };
            let (_, object) = objects.iter().find(|(known, _)| *known == name)?;
            Some(rewrite_object(object, &Members::read(json)?, to).to_string())
        }
    }
}

/// What an object of 0.3 is that does not say its kind.
fn likely_kind(members: &Members) -> Option<&'static str> {
    if members.object("status").is_some_and(|status| status.get("state").is_some()) {
        return Some(if members.get("taskId").is_some() { "status-update" } else { "task" });
    }
    if members.get("artifact").is_some() {
        return Some("artifact-update");
    }
    members.get("parts").map(|_| "message")
}

fn rewrite_object(object: &Object, members: &Members, to: A2aVersion) -> Members {
    match to {
        A2aVersion::V1_0 => to_1_0(object, members),
        A2aVersion::V0_3 => to_0_3(object, members),
    }
}

fn to_1_0(object: &Object, members: &Members) -> Members {
    let mut written = Members::default();
    for (name, json) in members.iter() {
        let is_kind =
            name == "kind" && object.kind.is_some_and(|kind| members.string("kind").as_deref() == Some(kind));
        if is_kind || object.implied.is_some_and(|(implied, _)| implied == name) {
            continue;
        }
        let field = object.fields.iter().find(|field| field.old == name);
        let json =
            field.map_or_else(|| json.to_owned(), |field| rewrite(field.shape, json, A2aVersion::V1_0));
        match object.inlined {
            Some((inlined, _))
                if inlined == name
                    && let Some(inner) = Members::read(&json) =>
            {
                inner.iter().for_each(|(name, json)| written.push(name, json));
            }
            _ => written.push(field.map_or(name, |field| field.new), &json),
        }
    }
    written
}

fn to_0_3(object: &Object, members: &Members) -> Members {
    let mut written = Members::default();
    if let Some(kind) = object.kind
        && members.get("kind").is_none()
    {
        written.push("kind", &Value::from(kind).to_string());
    }
    let mut inner = Members::default();
    for (name, json) in members.iter() {
        let name = json_name(name);
        if object.inlined.is_some_and(|(_, inlined)| inlined.contains(&name)) {
            inner.push(name, json);
            continue;
        }
        let field = object.fields.iter().find(|field| field.new == name);
        let rewritten = |field: &Field| rewrite(field.shape, json, A2aVersion::V0_3);
        written
            .push(field.map_or(name, |field| field.old), &field.map_or_else(|| json.to_owned(), rewritten));
    }
    if let Some((name, _)) = object.inlined
        && inner.iter().next().is_some()
    {
        let field = object.fields.iter().find(|field| field.old == name);
        let inner = inner.to_string();
        let inner =
            field.map_or_else(|| inner.clone(), |field| rewrite(field.shape, &inner, A2aVersion::V0_3));
        written.push(name, &inner);
    }
    if let Some((name, value)) = object.implied {
        let value = value(&written).to_string();
        written.set_missing(name, &value);
    }
    written
}

/// The name of a member in JSON. Whoever reads the JSON of protocol buffers takes the names of their fields too.
fn json_name(name: &str) -> &str {
    PROTO_NAMES.iter().find(|(proto, _)| *proto == name).map_or(name, |(_, json)| json)
}

/// The items of a JSON array, each as the text it is; `None` when it is none.
pub(super) fn items(json: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

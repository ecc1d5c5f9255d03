//! Everything that says something about one value.
//!
//! What stands in `allOf`, behind a `$ref` or in the branch that was chosen applies to the same value. It is not merged, which
//! would copy, but looked at side by side.

use serde_json::{Map, Value};

use super::build::NoValue;
use super::choices::Choices;

/// So many schemas may speak about one value.
pub(super) const MAX_VIEWS: usize = 256;

/// Finds what a `$ref` within a schema refers to.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(&percent_decoded(pointer)?)
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// All that speaks about a value: what must, and of alternatives the one that is chosen.
pub(super) fn chosen<'s>(
    root: &'s Value,
    schemas: Vec<&'s Value>,
    choices: &mut Choices,
) -> Result<Vec<&'s Map<String, Value>>, NoValue> {
    let mut views = Vec::new();
    let mut waiting = schemas;
    waiting.reverse();
    while let Some(schema) = waiting.pop() {
        let view = match schema {
            Value::Bool(true) => continue,
            Value::Bool(false) => return Err(NoValue::Nothing),
            Value::Object(view) => view,
            _ => return Err(NoValue::NoSchema),
        };
        if views.len() == MAX_VIEWS {
            return Err(NoValue::TooManySchemas);
        }
        views.push(view);
        if let Some(reference) = view.get("$ref").and_then(Value::as_str) {
            let target = resolve(root, reference);
            waiting.push(target.ok_or_else(|| NoValue::DeadReference(reference.to_owned()))?);
        }
        waiting.extend(list(view, "allOf"));
        for key in ["anyOf", "oneOf"] {
            let branches = list(view, key);
            if !branches.is_empty() {
                waiting.push(branches[choices.pick(branches.len())]);
            }
        }
        if let Some(condition) = view.get("if") {
            if choices.pick(2) == 0 {
                waiting.extend(view.get("else"));
            } else {
                waiting.push(condition);
                waiting.extend(view.get("then"));
            }
        }
    }
    Ok(views)
}

/// What speaks about a value whatever is chosen. What cannot be followed is left out.
pub(super) fn certain<'s>(root: &'s Value, schemas: Vec<&'s Value>) -> Vec<&'s Map<String, Value>> {
    let mut views: Vec<&Map<String, Value>> = Vec::new();
    let mut waiting = schemas;
    while let Some(schema) = waiting.pop() {
        let Value::Object(view) = schema else { continue };
        if views.len() == MAX_VIEWS {
            break;
        }
        views.push(view);
        let reference = view.get("$ref").and_then(Value::as_str);
        waiting.extend(reference.and_then(|reference| resolve(root, reference)));
        waiting.extend(list(view, "allOf"));
    }
    views
}

/// Whether a value may be a text of any kind, as far as types say.
pub(super) fn takes_text(root: &Value, schemas: Vec<&Value>) -> bool {
    let views = certain(root, schemas);
    // A property without a type may be anything; one whose alternatives are named takes a text if one of them does.
    views.iter().all(|view| {
        let types = view.get("type").is_none_or(|types| names(types).any(|name| name == "string"));
        let branches: Vec<&Value> = list(view, "anyOf").into_iter().chain(list(view, "oneOf")).collect();
        types
            && (branches.is_empty() || branches.iter().any(|branch| branch_takes_text(root, branch)))
            && !view.contains_key("enum")
            && !view.contains_key("const")
    }) && views.iter().any(|view| says_something(view))
}

fn branch_takes_text(root: &Value, branch: &Value) -> bool {
    let views = certain(root, vec![branch]);
    views.iter().any(|view| view.get("type").is_some_and(|types| names(types).any(|name| name == "string")))
        && !views.iter().any(|view| view.contains_key("enum") || view.contains_key("const"))
}

/// A property of which nothing at all is said may be meant for anything, so that a text is no more than a guess.
fn says_something(view: &Map<String, Value>) -> bool {
    ["type", "anyOf", "oneOf", "format", "pattern", "minLength", "maxLength"]
        .iter()
        .any(|key| view.contains_key(*key))
}

/// The schemas of a list.
pub(super) fn list<'s>(view: &'s Map<String, Value>, key: &str) -> Vec<&'s Value> {
    view.get(key).and_then(Value::as_array).map(|items| items.iter().collect()).unwrap_or_default()
}

/// The names of a `type`, which is one or a list of them.
pub(super) fn names(types: &Value) -> impl Iterator<Item = &str> {
    let one = types.as_str();
    one.into_iter().chain(types.as_array().into_iter().flatten().filter_map(Value::as_str))
}

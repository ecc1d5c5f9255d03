//! How much work it is to validate a value: counted before it is done.

use serde_json::{Map, Value};

use super::views::{list, resolve};

/// So many schemas are asked about parts of one value.
const MAX_STEPS: u64 = 200_000;

/// Counts what a validator would do, and says when that is too much.
pub(super) fn bounded(root: &Value, value: &Value) -> Result<(), String> {
    let mut left = MAX_STEPS;
    // A circle was refused before, and both schema and value are finite, so this ends; it is bounded anyway.
    let mut waiting = vec![(root, value)];
    while let Some((schema, value)) = waiting.pop() {
        left = left.checked_sub(1).ok_or("to check a value against it takes too long")?;
        let Value::Object(view) = schema else { continue };
        same(root, view, |next| waiting.push((next, value)));
        parts(view, value, |schema, value| waiting.push((schema, value)));
    }
    Ok(())
}

fn same<'s>(root: &'s Value, view: &'s Map<String, Value>, mut visit: impl FnMut(&'s Value)) {
    let reference = view.get("$ref").and_then(Value::as_str);
    reference.and_then(|reference| resolve(root, reference)).into_iter().for_each(&mut visit);
    for key in ["allOf", "anyOf", "oneOf"] {
        list(view, key).into_iter().for_each(&mut visit);
    }
    for key in ["not", "if", "then", "else"] {
        view.get(key).into_iter().for_each(&mut visit);
    }
    for key in ["dependentSchemas", "dependencies"] {
        view.get(key).and_then(Value::as_object).into_iter().flat_map(Map::values).for_each(&mut visit);
    }
}

fn parts<'s>(view: &'s Map<String, Value>, value: &'s Value, mut visit: impl FnMut(&'s Value, &'s Value)) {
    match value {
        Value::Object(map) => {
            let named = view.get("properties").and_then(Value::as_object);
            let rest =
                ["additionalProperties", "unevaluatedProperties", "propertyNames"].map(|key| view.get(key));
            let patterns = view.get("patternProperties").and_then(Value::as_object);
            for (key, part) in map {
                named.and_then(|named| named.get(key)).into_iter().for_each(|schema| visit(schema, part));
                rest.into_iter().flatten().for_each(|schema| visit(schema, part));
                patterns.into_iter().flat_map(Map::values).for_each(|schema| visit(schema, part));
            }
        }
        Value::Array(items) => {
            let lists: Vec<&Value> =
                ["prefixItems", "items"].iter().flat_map(|key| list(view, key)).collect();
            let all = ["items", "additionalItems", "unevaluatedItems", "contains"].map(|key| view.get(key));
            for (at, item) in items.iter().enumerate() {
                lists.get(at).into_iter().for_each(|schema| visit(schema, item));
                all.into_iter().flatten().for_each(|schema| visit(schema, item));
            }
        }
        _ => {}
    }
}

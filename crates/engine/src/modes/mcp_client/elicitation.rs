//! What a user would enter who changes nothing: the defaults of a form.

use serde_json::{Map, Value, json};

/// How deep a schema is looked into; those of elicitation are flat.
const MAX_DEPTH: usize = 8;

/// The content of a form that is accepted as it is: the defaults of its schema, and the least that required fields
/// without one accept.
pub(super) fn defaults(schema: &Value) -> Value {
    object(schema, 0)
}

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
        assert_eq!(defaults(&schema), json!({"name": "Ada", "score": 95.5, "plan": "free", "seats": 2}));
    }

    #[test]
    fn what_is_no_schema_has_no_defaults() {
        for schema in [json!(null), json!("x"), json!({"properties": 3}), json!({"required": ["x"]})] {
            assert_eq!(defaults(&schema), json!({}), "{schema}");
        }
    }
}

//! One text for equal values.

use serde_json::{Map, Value};

/// The value with its members in order of their names, all the way down.
///
/// It recurses as deep as the value, which either was parsed, so `serde_json` stopped it at 128, or was built by us.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort_unstable();
            let sorted = names.into_iter().map(|name| (name.clone(), canonical(&members[name])));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

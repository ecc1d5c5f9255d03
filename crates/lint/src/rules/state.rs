//! Walks through pass-through state.

use serde_json::Value;
use sortie_oatf::bindings::structural_keys;
use sortie_oatf::model::{Document, Mode};
use sortie_syntax::NodePath;

/// The elements of the list under a key, with their paths; none when there is no such list.
pub(super) fn items<'v>(
    holder: &'v Value,
    path: &NodePath,
    key: &str,
) -> impl Iterator<Item = (&'v Value, NodePath)> + use<'v> {
    let list = holder.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let path = path.clone().key(key);
    list.iter().enumerate().map(move |(index, item)| (item, path.clone().index(index)))
}

/// Whether something that actors of this protocol send has this key.
pub(super) fn sends_key(document: &Document, protocol: &str, key: &str) -> bool {
    document.states().iter().any(|state| {
        let mode = state.mode.filter(|mode| Mode::protocol(mode) == Some(protocol));
        let Some(sent) = mode.and_then(structural_keys) else { return false };
        sent.iter().filter_map(|sent| state.value.get(sent)).any(|value| has_key(value, key))
    })
}

// Recursion is bounded by the depth of documents.
fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_key(item, key)),
        Value::Object(fields) => fields.contains_key(key) || fields.values().any(|value| has_key(value, key)),
        _ => false,
    }
}

//! JSON that stays the text it is, beside [`Members`].

use serde_json::Value;
use serde_json::value::RawValue;
use sortie_wire::Members;

/// A member that is a string.
pub(super) fn string(members: &Members, name: &str) -> Option<String> {
    serde_json::from_str(members.get(name)?).ok()
}

/// A member that is an object.
pub(super) fn object(members: &Members, name: &str) -> Option<Members> {
    Members::read(members.get(name)?)
}

/// The items of an array; `None` when it is none.
pub(super) fn items(json: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// Items as an array.
pub(super) fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// A text as a string.
pub(super) fn text(text: &str) -> String {
    Value::from(text).to_string()
}

//! Parts of messages: when two are the same, and how much they take.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;
use serde_json::value::RawValue;

use super::ToolRun;
use crate::messages::{Part, Role};

/// What makes a part the same, wherever it is repeated.
pub(super) fn hash_part(hasher: &RandomState, role: Role, part: &Part) -> u64 {
    match part {
        Part::Text(text) => hasher.hash_one((0u8, role, text.trim())),
        Part::Call { id: Some(id), name, .. } => hasher.hash_one((1u8, id, name)),
        Part::Call { id: None, name, arguments } => {
            hasher.hash_one((2u8, name, arguments.as_ref().map(|arguments| arguments.get())))
        }
        Part::Result { id: Some(id), .. } => hasher.hash_one((3u8, id)),
        Part::Result { id: None, name, value, .. } => {
            hasher.hash_one((4u8, name, value.as_ref().map(|value| value.get())))
        }
    }
}

pub(super) fn differ(a: &Part, b: &Part) -> bool {
    let unlike = |a: &Option<Box<RawValue>>, b: &Option<Box<RawValue>>| match (a, b) {
        (Some(a), Some(b)) => !same_json(a, b),
        _ => a.is_some() != b.is_some(),
    };
    match (a, b) {
        (Part::Call { arguments: a, .. }, Part::Call { arguments: b, .. }) => unlike(a, b),
        (Part::Result { value: Some(a), .. }, Part::Result { value: Some(b), .. }) => {
            a.get() != b.get() && words_of(a) != words_of(b)
        }
        _ => false,
    }
}

/// The words of a result, without what they stand in.
pub(super) fn words_of(value: &RawValue) -> String {
    fn words(value: &Value, depth: usize) -> String {
        match value {
            Value::String(text) if depth < 4 && text.starts_with(['[', '{', '"']) => {
                serde_json::from_str(text).map_or_else(|_| text.clone(), |inner| words(&inner, depth + 1))
            }
            Value::String(text) => text.clone(),
            Value::Array(items) if !items.is_empty() && items.iter().all(|item| item["text"].is_string()) => {
                items.iter().filter_map(|item| item["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
            Value::Object(object) if depth < 4 && object.contains_key("content") => {
                words(&object["content"], depth + 1)
            }
            other => other.to_string(),
        }
    }
    serde_json::from_str(value.get()).map_or_else(|_| value.get().to_owned(), |value| words(&value, 0))
}

pub(super) fn size_of_part(part: &Part) -> usize {
    64 + match part {
        Part::Text(text) => text.len(),
        Part::Call { arguments, .. } => arguments.as_ref().map_or(0, |raw| raw.get().len()),
        Part::Result { value, .. } => value.as_ref().map_or(0, |raw| raw.get().len()),
    }
}

pub(super) fn size_of_run(run: &ToolRun) -> usize {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    256 + raw(&run.arguments) + raw(&run.result)
}

pub(super) fn same_json(a: &RawValue, b: &RawValue) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    a.get() == b.get() || value(a) == value(b)
}

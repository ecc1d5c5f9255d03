//! Conversions between types, and from a result to JSON.

use std::rc::Rc;

use serde_json::Value as Json;

use super::fault::FaultKind;
use super::functions::{Outcome, text_value};
use super::limits::{Budget, MAX_VALUE_DEPTH};
use super::number::{self, Number};
use super::time::{Duration, Timestamp};
use super::value::Val;

/// A double has at most 1,074 digits after the point and 309 before it.
const LONGEST_NUMBER: usize = 1_500;

pub(super) fn int<'a>(value: &Val<'a>) -> Outcome<'a> {
    if let Some(number) = value.as_number() {
        return i64::try_from(whole(number)?).map(Val::Int).map_err(|_| FaultKind::Overflow);
    }
    match value {
        Val::Timestamp(time) => Ok(Val::Int(time.seconds())),
        _ => parse(value, "the text is not an integer").map(Val::Int),
    }
}

pub(super) fn uint<'a>(value: &Val<'a>) -> Outcome<'a> {
    if let Some(number) = value.as_number() {
        return u64::try_from(whole(number)?).map(Val::UInt).map_err(|_| FaultKind::Overflow);
    }
    parse(value, "the text is not an unsigned integer").map(Val::UInt)
}

pub(super) fn double<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value.as_number() {
        Some(Number::Double(value)) => Ok(Val::Double(value)),
        Some(Number::Whole(value)) => Ok(Val::Double(number::to_double(value))),
        None => parse(value, "the text is not a number").map(Val::Double),
    }
}

/// A number without its fraction.
fn whole(number: Number) -> Result<i128, FaultKind> {
    match number {
        Number::Whole(value) => Ok(value),
        Number::Double(value) => number::truncate(value).ok_or(FaultKind::Overflow),
    }
}

fn parse<T: std::str::FromStr>(value: &Val<'_>, refusal: &'static str) -> Result<T, FaultKind> {
    let text = value.as_str().ok_or_else(|| value.no_overload())?;
    // No number needs more text than a double written out in full, and reading more takes time that
    // nothing accounts for.
    if text.len() > LONGEST_NUMBER {
        return Err(FaultKind::InvalidArgument(refusal));
    }
    text.parse().map_err(|_| FaultKind::InvalidArgument(refusal))
}

pub(super) fn bool<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Bool(value) => Ok(Val::Bool(*value)),
        _ => match value.as_str().ok_or_else(|| value.no_overload())? {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(Val::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(Val::Bool(false)),
            _ => Err(FaultKind::InvalidArgument("the text is not a boolean")),
        },
    }
}

pub(super) fn string<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    if matches!(value, Val::Double(_) | Val::Timestamp(_) | Val::Duration(_)) {
        budget.format()?;
    }
    Ok(text_value(match value {
        Val::Str(_) | Val::Text(_) => return Ok(value.clone()),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::UInt(value) => value.to_string(),
        Val::Double(value) => number::double_text(*value),
        Val::Timestamp(time) => time.to_string(),
        Val::Duration(span) => span.to_string(),
        _ => {
            let bytes = value.as_bytes().ok_or_else(|| value.no_overload())?;
            budget.copy(bytes.len())?;
            String::from_utf8(bytes.to_vec())
                .map_err(|_| FaultKind::InvalidArgument("the bytes are not UTF-8"))?
        }
    }))
}

pub(super) fn bytes<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    if value.as_bytes().is_some() {
        return Ok(value.clone());
    }
    let text = value.as_str().ok_or_else(|| value.no_overload())?;
    budget.copy(text.len())?;
    Ok(Val::Buffer(Rc::from(text.as_bytes())))
}

pub(super) fn timestamp<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    budget.format()?;
    match value {
        Val::Timestamp(time) => Ok(Val::Timestamp(*time)),
        Val::Int(seconds) => Timestamp::from_seconds(*seconds).map(Val::Timestamp).ok_or(FaultKind::Overflow),
        _ => Timestamp::parse(value.as_str().ok_or_else(|| value.no_overload())?)
            .map(Val::Timestamp)
            .ok_or(FaultKind::InvalidArgument("the text is not an RFC 3339 timestamp")),
    }
}

pub(super) fn duration<'a>(value: &Val<'a>, budget: &mut Budget) -> Outcome<'a> {
    budget.format()?;
    match value {
        Val::Duration(span) => Ok(Val::Duration(*span)),
        _ => Duration::parse(value.as_str().ok_or_else(|| value.no_overload())?)
            .map(Val::Duration)
            .ok_or(FaultKind::InvalidArgument("the text is not a duration such as 1h30m")),
    }
}

/// The JSON form of a result. Timestamps and durations become text; bytes, types and numbers that are
/// not finite have none.
pub(super) fn to_json(value: &Val<'_>, budget: &mut Budget, depth: usize) -> Result<Json, FaultKind> {
    if depth > MAX_VALUE_DEPTH {
        return Err(FaultKind::TooDeep);
    }
    // Each value is built anew, which takes several times as long as visiting it.
    budget.visit(4)?;
    let not_json = || FaultKind::NotJson(value.type_of());
    if let Some(text) = value.as_str() {
        budget.copy(text.len())?;
        return Ok(Json::from(text));
    }
    if let Some(list) = value.as_list() {
        let items = list.iter().map(|item| to_json(&item, budget, depth + 1));
        return items.collect::<Result<_, _>>().map(Json::Array);
    }
    if let Some(map) = value.as_map() {
        let mut fields = serde_json::Map::new();
        for (key, item) in map.entries() {
            let key = string(&key, budget)?;
            let name = key.as_str().unwrap_or_default();
            budget.copy(name.len())?;
            fields.insert(name.to_owned(), to_json(&item, budget, depth + 1)?);
        }
        return Ok(Json::Object(fields));
    }
    Ok(match value {
        Val::Null => Json::Null,
        Val::Bool(value) => Json::from(*value),
        Val::Int(value) => Json::from(*value),
        Val::UInt(value) => Json::from(*value),
        Val::Double(value) => Json::Number(serde_json::Number::from_f64(*value).ok_or_else(not_json)?),
        Val::Timestamp(_) | Val::Duration(_) => {
            return to_json(&string(value, budget)?, budget, depth + 1);
        }
        _ => return Err(not_json()),
    })
}

//! A plain interpreter of conditions and paths: slow, cloning, and short enough to be read against the
//! specification.

use std::collections::BTreeMap;

use serde_json::Value;
use sortie_expr::re2::Regex;

/// JSON numbers in ascending order of what they mean; those that mean the same share a rank.
pub(crate) const NUMBERS: &[(i32, &str)] = &[
    (0, "-1e300"),
    (1, "-9223372036854775808"),
    (2, "-9007199254740993"),
    (3, "-9007199254740992"),
    (3, "-9007199254740992.0"),
    (4, "-1.5"),
    (5, "-1"),
    (5, "-1.0"),
    (6, "0"),
    (6, "0.0"),
    (6, "-0.0"),
    (7, "0.1"),
    (8, "1"),
    (8, "1.0"),
    (9, "42"),
    (9, "42.0"),
    (10, "42.5"),
    (11, "9007199254740992"),
    (12, "9007199254740993"),
    (13, "9223372036854775807"),
    (14, "9223372036854775808"),
    (14, "9223372036854775808.0"),
    (15, "18446744073709551615"),
    (16, "18446744073709551616.0"),
    (17, "1e300"),
];

/// The number at a position of [`NUMBERS`].
pub(crate) fn number(position: usize) -> Value {
    serde_json::from_str(NUMBERS[position].1).unwrap()
}

fn rank(value: &Value) -> Option<i32> {
    let number = value.as_number()?;
    let found = NUMBERS.iter().find(|(_, text)| {
        serde_json::from_str::<Value>(text).unwrap().as_number().unwrap().to_string() == number.to_string()
    });
    Some(found.unwrap_or_else(|| panic!("{number} is not in the table")).0)
}

/// §5.4, §5.3: deep equality.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => rank(a) == rank(b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}

fn sorted(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(key, value)| format!("{}:{}", serde_json::to_string(key).unwrap(), sorted(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        scalar => serde_json::to_string(scalar).unwrap(),
    }
}

/// What a string operator sees.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => sorted(other),
    }
}

const OPERATORS: &[&str] =
    &["contains", "starts_with", "ends_with", "regex", "any_of", "gt", "lt", "gte", "lte", "exists"];

fn is_operators(condition: &Value) -> bool {
    condition.as_object().is_some_and(|fields| fields.keys().any(|key| OPERATORS.contains(&key.as_str())))
}

/// §5.3, on a value that is there.
pub(crate) fn condition(condition: &Value, value: &Value) -> bool {
    if !is_operators(condition) {
        return equal(condition, value);
    }
    condition.as_object().unwrap().iter().all(|(operator, operand)| {
        let operand_text = || operand.as_str().unwrap();
        let compared = || rank(value).map(|rank_of_value| rank_of_value.cmp(&rank(operand).unwrap()));
        match operator.as_str() {
            "contains" => text(value).contains(operand_text()),
            "starts_with" => text(value).starts_with(operand_text()),
            "ends_with" => text(value).ends_with(operand_text()),
            "regex" => Regex::new(operand_text()).unwrap().is_match(&text(value)),
            "any_of" => operand.as_array().unwrap().iter().any(|operand| equal(operand, value)),
            "gt" => compared().is_some_and(std::cmp::Ordering::is_gt),
            "lt" => compared().is_some_and(std::cmp::Ordering::is_lt),
            "gte" => compared().is_some_and(std::cmp::Ordering::is_ge),
            "lte" => compared().is_some_and(std::cmp::Ordering::is_le),
            "exists" => operand == true,
            other => panic!("{other}"),
        }
    })
}

/// §5.4, one entry.
pub(crate) fn predicate_entry(path: &str, entry: &Value, value: &Value) -> bool {
    match simple(path, value) {
        Some(found) => condition(entry, &found),
        None => *entry == serde_json::json!({"exists": false}),
    }
}

fn simple(path: &str, value: &Value) -> Option<Value> {
    if path.is_empty() {
        return Some(value.clone());
    }
    let mut value = value.clone();
    for segment in path.split('.') {
        value = value.as_object()?.get(segment)?.clone();
    }
    Some(value)
}

/// §5.1.2
fn wildcard(path: &str, value: &Value) -> Vec<Value> {
    let mut values = vec![value.clone()];
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches("[*]");
        let mut next = Vec::new();
        for value in values {
            let Some(found) = value.as_object().and_then(|fields| fields.get(name)) else { continue };
            if name == segment {
                next.push(found.clone());
            } else if let Some(items) = found.as_array() {
                next.extend(items.iter().cloned());
            }
        }
        values = next;
    }
    values
}

/// §4.2
pub(crate) fn pattern(target: &str, pattern: &Value, message: &Value) -> bool {
    let values = wildcard(target, message);
    let only_exists =
        pattern.as_object().is_some_and(|fields| fields.len() == 1 && fields.contains_key("exists"));
    if only_exists {
        return pattern["exists"] == !values.is_empty();
    }
    values.iter().any(|value| condition(pattern, value))
}

/// The value at a path with concrete positions, as evidence gives it.
pub(crate) fn at<'v>(path: &str, message: &'v Value) -> Option<&'v Value> {
    let mut value = message;
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let (name, position) = match segment.split_once('[') {
            Some((name, rest)) => (name, Some(rest.trim_end_matches(']').parse::<usize>().ok()?)),
            None => (segment, None),
        };
        value = value.get(name)?;
        if let Some(position) = position {
            value = value.get(position)?;
        }
    }
    Some(value)
}

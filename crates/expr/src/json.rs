//! JSON as text, and JSON compared by what it means.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value};

/// Compact JSON in insertion order: what extractors read and give.
pub fn text(value: &Value) -> String {
    value.to_string()
}

/// Compact JSON with sorted keys: what string operators and templates see.
pub fn sorted_text(value: &Value) -> String {
    // Writing to memory does not fail, and every key is a string.
    serde_json::to_string(&Sorted(value)).unwrap_or_default()
}

/// A value as a string operator sees it: strings as they are, the rest as [`sorted_text`].
pub fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(sorted_text(other)),
    }
}

/// The value under a key.
///
/// In a small object it is found by looking, which takes a third of the time of hashing; most are small.
pub fn field<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    const LOOK_UP_TO: usize = 8;
    if object.len() <= LOOK_UP_TO {
        object.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    } else {
        object.get(key)
    }
}

/// What a value is, for a sentence.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

/// A value that is written with its keys sorted.
struct Sorted<'v>(&'v Value);

impl Serialize for Sorted<'_> {
    // JSON readers stop at 128 levels and documents at 100, so recursion is bounded.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            Value::Object(fields) if fields.keys().is_sorted() => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, Sorted(value))))
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(key, _)| *key);
                serializer.collect_map(fields.into_iter().map(|(key, value)| (key, Sorted(value))))
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

/// Deep equality: numbers by value, objects without regard to key order.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Compares numbers by their exact mathematical value; large integers never pass through a double.
pub fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(a), None) => compare_integer(a, b.as_f64()?),
        (None, Some(b)) => compare_integer(b, a.as_f64()?).map(Ordering::reverse),
        (None, None) => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Compares an integer of at most 65 bits with a double, exactly.
pub(crate) fn compare_integer(integer: i128, double: f64) -> Option<Ordering> {
    const BEYOND: f64 = 18_446_744_073_709_551_616.0; // 2^64
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND {
        return Some(Ordering::Less);
    }
    if double <= -BEYOND {
        return Some(Ordering::Greater);
    }
    #[expect(clippy::cast_possible_truncation, reason = "in range, so the whole part converts without loss")]
    let whole = double.trunc() as i128;
    Some(integer.cmp(&whole).then_with(|| {
        let fraction = double.fract();
        0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_compare_by_value_and_exactly() {
        assert!(equal(&json!(42), &json!(42.0)));
        assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992.0)));
        assert!(!equal(&json!(u64::MAX), &json!(18_446_744_073_709_551_616.0)));
        assert!(equal(&json!(-0.0), &json!(0)));
        let order = |a: Value, b: Value| compare_numbers(a.as_number().unwrap(), b.as_number().unwrap());
        assert_eq!(order(json!(5), json!(5.5)), Some(Ordering::Less));
        assert_eq!(order(json!(-5), json!(-5.5)), Some(Ordering::Greater));
        assert_eq!(order(json!(1e300), json!(i64::MAX)), Some(Ordering::Greater));
    }

    #[test]
    fn keys_are_sorted_for_operators_only() {
        let value = json!({"b": 1, "a": [{"d": 100.0, "c": "x\"y"}]});
        assert_eq!(sorted_text(&value), r#"{"a":[{"c":"x\"y","d":100.0}],"b":1}"#);
        assert_eq!(text(&value), r#"{"b":1,"a":[{"d":100.0,"c":"x\"y"}]}"#);
    }
}

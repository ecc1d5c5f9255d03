//! What a plain scalar means: the YAML 1.2 core schema, and nothing else.

use serde_json::{Number, Value};

/// A scalar with its type resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'t> {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`. `yes` and `on` are strings.
    Bool(bool),
    /// An integer or a float. `017` is the integer 17 in no reader's mind: it is a string here.
    Number {
        /// The nearest JSON number.
        value: Number,
        /// Whether [`Number`] cannot print the number as it was written (`1.10`, or more digits than fit).
        inexact: bool,
    },
    /// `.inf` and `.nan`, which JSON cannot say.
    NotFinite,
    /// Everything else.
    String(&'t str),
}

impl<'t> Scalar<'t> {
    /// Resolves a plain scalar.
    pub fn resolve(text: &'t str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            _ => {}
        }
        // Most scalars are words: one look at the first byte settles them.
        let first = text.as_bytes()[0];
        if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
            return Self::String(text);
        }
        number(text).unwrap_or(Self::String(text))
    }

    /// The JSON value of this scalar. What JSON cannot say (`.inf`) is kept as its text.
    pub fn to_value(&self, text: &str) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number { value, .. } => Value::Number(value.clone()),
            Self::NotFinite => Value::String(text.to_owned()),
            Self::String(text) => Value::String((*text).to_owned()),
        }
    }
}

fn number(text: &str) -> Option<Scalar<'_>> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Scalar::NotFinite);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) =
        mantissa.split_once('.').map_or((mantissa, None), |(whole, fraction)| (whole, Some(fraction)));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    let has_digits = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    if !all_digits(whole) || !fraction.is_none_or(all_digits) || !exponent_ok || !has_digits {
        return None;
    }
    // A leading zero means octal to YAML 1.1 readers and decimal to 1.2 ones. A text that two
    // readers take for two numbers is a string.
    if whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    let integral = fraction.is_none() && exponent.is_none();
    let digits = text.strip_prefix('+').unwrap_or(text);
    if integral {
        if let Ok(value) = digits.parse::<i64>() {
            return Some(exactly(value.into(), text));
        }
        if let Ok(value) = digits.parse::<u64>() {
            return Some(exactly(value.into(), text));
        }
    }
    let value = Number::from_f64(digits.parse().ok()?);
    Some(match value {
        Some(value) => exactly(value, text),
        // Too large for a double: the nearest JSON number we can hold stands in, the text is kept.
        None => Scalar::Number {
            value: Number::from_f64(if text.starts_with('-') { f64::MIN } else { f64::MAX })?,
            inexact: true,
        },
    })
}

fn radix(digits: &str, radix: u32) -> Option<Scalar<'_>> {
    // `from_str_radix` takes a sign, YAML does not.
    if digits.is_empty() || digits.starts_with(['-', '+']) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    // JSON has no hexadecimal, so the value is all there is to keep.
    Some(Scalar::Number { value: value.into(), inexact: false })
}

fn exactly(value: Number, text: &str) -> Scalar<'_> {
    let inexact = value.to_string() != text && is_json_number(text);
    Scalar::Number { value, inexact }
}

/// Whether JSON can say the number as YAML did: no `+5`, no `.5`, no `5.`.
fn is_json_number(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Value {
        Scalar::resolve(text).to_value(text)
    }

    #[test]
    fn only_the_core_schema_gives_anything_but_strings() {
        let words =
            "yes on n 017 -017 1_000 0b1 1:30 2026-11-15 + - . 1e 0x 0xg 0x-1 1.2.3 nULL -.nan".split(' ');
        for text in words {
            assert_eq!(value(text), json!(text), "{text}");
        }
    }

    #[test]
    fn numbers_keep_their_value() {
        for (text, expected) in [
            ("42 +42", json!(42)),
            ("-1", json!(-1)),
            ("0", json!(0)),
            ("0o17", json!(15)),
            ("0xFF", json!(255)),
            ("18446744073709551615", json!(u64::MAX)),
            ("100.0", json!(100.0)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("~ ", json!(null)),
        ] {
            for text in text.split(' ') {
                assert_eq!(value(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_a_json_number_cannot_print_is_marked() {
        let inexact = |text| matches!(Scalar::resolve(text), Scalar::Number { inexact: true, .. });
        assert!(inexact("1.10"));
        assert!(inexact("18446744073709551616"));
        assert!(inexact("1e400"));
        assert!(!inexact("1.5"));
        assert!(!inexact("+5"), "JSON has no leading plus");
        assert!(!inexact("0x10"));
    }
}

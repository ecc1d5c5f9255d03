//! Ids: ours, and how those of a peer are compared.

use std::sync::atomic::{AtomicU64, Ordering};

/// The ids of our own requests: 1, 2, 3, …
#[derive(Debug, Default)]
pub struct Ids {
    given: AtomicU64,
}

impl Ids {
    /// An id that was not given before, as JSON text.
    pub fn fresh(&self) -> String {
        (self.given.fetch_add(1, Ordering::Relaxed) + 1).to_string()
    }
}

/// A key under which two spellings of the same id, given as JSON text, meet: `1`, `1.0` and `10e-1`; `"a"` and `"\u0061"`.
///
/// A number never meets a string. Numbers are compared by their digits and not as floats, so that two long ids which
/// are different stay so.
///
/// ```
/// use sortie_protocol::id_key;
///
/// assert_eq!(id_key("1"), id_key("1.0"));
/// assert_ne!(id_key("1"), id_key("\"1\""));
/// ```
pub fn id_key(text: &str) -> String {
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).map_or_else(|_| text.to_owned(), |id| format!("\"{id}"));
    }
    number_key(text).unwrap_or_else(|| text.to_owned())
}

/// The digits of a number without zeros around them, and the power of ten by which they are scaled.
fn number_key(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let scale = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    match significant.trim_start_matches('0') {
        "" => Some("0".to_owned()),
        significant => Some(format!("{sign}{significant}e{scale}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_id_meet() {
        for same in [
            &["1", "1.0", "1.000", "10e-1", "1E0", "0.1e+1"][..],
            &["0", "-0", "0.0", "0e9"],
            &["100", "1e2", "100.0"],
            &["-7", "-7.0"],
            &[r#""a/b""#, r#""\u0061\/b""#],
        ] {
            for spelling in same {
                assert_eq!(id_key(spelling), id_key(same[0]), "{spelling}");
            }
        }
    }

    #[test]
    fn different_ids_do_not_meet() {
        let ids = r#"1 -1 10 1.5 12345678901234567890123 12345678901234567890124 "1" "1e0" "" 0 1e99999999999999999999 null"#;
        let ids: Vec<&str> = ids.split(' ').collect();
        for (at, id) in ids.iter().enumerate() {
            for other in &ids[at + 1..] {
                assert_ne!(id_key(id), id_key(other), "{id} {other}");
            }
        }
    }

    #[test]
    fn our_ids_are_never_given_twice() {
        let ids = Ids::default();
        assert_eq!((ids.fresh(), ids.fresh(), ids.fresh()), ("1".into(), "2".into(), "3".into()));
    }
}

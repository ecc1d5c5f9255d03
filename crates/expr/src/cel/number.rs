//! Numbers of three kinds on one line.
//!
//! JSON has one kind of number and CEL has three, so they meet in comparisons. Comparing is exact: a
//! large integer never travels through a double (RULES decision 11).

use std::cmp::Ordering;

use crate::json::compare_integer;

/// A number of any kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    /// Wide enough for `int` and `uint`.
    Whole(i128),
    Double(f64),
}

impl Number {
    /// The order of two numbers; `None` when one is NaN.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            (Self::Double(left), Self::Double(right)) => left.partial_cmp(&right),
            (Self::Whole(left), Self::Double(right)) => compare_integer(left, right),
            (Self::Double(left), Self::Whole(right)) => compare_integer(right, left).map(Ordering::reverse),
        }
    }
}

/// The whole number a double holds, without its fraction; `None` outside the 64-bit ranges.
pub(super) fn truncate(double: f64) -> Option<i128> {
    if !double.is_finite() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it saturates outside all ranges that callers check")]
    let whole = double as i128;
    Some(whole)
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "that is what `double()` is for")]
pub(super) fn to_double(whole: i128) -> f64 {
    whole as f64
}

/// The text of a double as CEL's `string()` gives it: shortest form, with an exponent outside the
/// range people read.
pub(super) fn double_text(double: f64) -> String {
    let magnitude = double.abs();
    if double.is_nan() {
        "NaN".to_owned()
    } else if double.is_infinite() {
        if double > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        format!("{double:e}")
    } else {
        format!("{double}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(left: Number, right: Number) -> Option<Ordering> {
        let forward = left.compare(right);
        assert_eq!(forward, right.compare(left).map(Ordering::reverse));
        forward
    }

    #[test]
    fn large_integers_keep_their_last_digit() {
        let double = Number::Double(9_007_199_254_740_992.0);
        let whole = Number::Whole;
        assert_eq!(order(whole(9_007_199_254_740_993), double), Some(Ordering::Greater));
        assert_eq!(order(whole(9_007_199_254_740_992), double), Some(Ordering::Equal));
        let past_u64 = Number::Double(18_446_744_073_709_551_616.0);
        assert_eq!(order(whole(u64::MAX.into()), past_u64), Some(Ordering::Less));
    }

    #[test]
    fn fractions_and_infinities_fall_on_the_right_side() {
        let whole = Number::Whole;
        let double = Number::Double;
        assert_eq!(order(whole(-1), double(-1.5)), Some(Ordering::Greater));
        assert_eq!(order(whole(-2), double(-1.5)), Some(Ordering::Less));
        assert_eq!(order(whole(0), double(-0.0)), Some(Ordering::Equal));
        assert_eq!(order(whole(i64::MIN.into()), double(f64::NEG_INFINITY)), Some(Ordering::Greater));
        assert_eq!(order(whole(5), double(f64::NAN)), None);
    }
}

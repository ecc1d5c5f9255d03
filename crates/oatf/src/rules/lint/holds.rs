//! Whether a condition holds, as plainly as it can be said.
//!
//! The lints look at one small document at a time, so nothing is compiled ahead.

use crate::json::{as_text, compare_numbers, equal};
use crate::model::{Condition, MatchCondition};
use crate::path::WildcardPath;
use crate::re2::Regex;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Whether a pattern matches a message (specification §4.2).
pub(super) fn matches(target: &WildcardPath, condition: &Condition, message: &Value) -> bool {
    let values = target.resolve(message);
    if let Condition::Match(only) = condition
        && let (Some(exists), 1) = (only.exists, only.operator_count())
    {
        return exists != values.is_empty();
    }
    values.into_iter().any(|value| holds(condition, value))
}

/// Whether a condition holds for a value that is there (specification §5.3).
pub(super) fn holds(condition: &Condition, value: &Value) -> bool {
    match condition {
        Condition::Value(wanted) => equal(wanted, value),
        Condition::Match(operators) => all_hold(operators, value),
    }
}

fn all_hold(operators: &MatchCondition, value: &Value) -> bool {
    let text = as_text(value);
    let ordered = |operand: &Option<Number>, fits: fn(Ordering) -> bool| {
        operand.as_ref().is_none_or(|operand| {
            value.as_number().and_then(|number| compare_numbers(number, operand)).is_some_and(fits)
        })
    };
    operators.exists != Some(false)
        && operators.contains.as_ref().is_none_or(|part| text.contains(part))
        && operators.starts_with.as_ref().is_none_or(|start| text.starts_with(start))
        && operators.ends_with.as_ref().is_none_or(|end| text.ends_with(end))
        && operators.regex.as_ref().is_none_or(|regex| Regex::new(regex).is_ok_and(|r| r.is_match(&text)))
        && operators.any_of.as_ref().is_none_or(|list| list.iter().any(|wanted| equal(wanted, value)))
        && ordered(&operators.gt, Ordering::is_gt)
        && ordered(&operators.lt, Ordering::is_lt)
        && ordered(&operators.gte, Ordering::is_ge)
        && ordered(&operators.lte, Ordering::is_le)
}

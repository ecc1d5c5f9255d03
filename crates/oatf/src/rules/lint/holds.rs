//! Whether a condition holds, as plainly as it can be said.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::json::{as_text, compare_numbers, equal};
use crate::model::{Condition, MatchCondition};
use crate::path::WildcardPath;
use crate::re2::Regex;

/// A condition, with its regular expression built once.
pub(super) struct Check<'c> {
    condition: &'c Condition,
    /// `None` also for one that is no RE2, which never matches.
    regex: Option<Regex>,
}

impl<'c> Check<'c> {
    pub(super) fn new(condition: &'c Condition) -> Self {
        let regex = match condition {
            Condition::Match(operators) => operators.regex.as_deref(),
            Condition::Value(_) => None,
        };
        Self { condition, regex: regex.and_then(|regex| Regex::new(regex).ok()) }
    }

    /// Whether a pattern with this condition matches a message (specification §4.2).
    pub(super) fn matches(&self, target: &WildcardPath, message: &Value) -> bool {
        let values = target.resolve(message);
        if let Condition::Match(only) = self.condition
            && let (Some(exists), 1) = (only.exists, only.operator_count())
        {
            return exists != values.is_empty();
        }
        values.into_iter().any(|value| self.holds(value))
    }

    /// Whether it holds for a value that is there (specification §5.3).
    pub(super) fn holds(&self, value: &Value) -> bool {
        match self.condition {
            Condition::Value(wanted) => equal(wanted, value),
            Condition::Match(operators) => self.all_hold(operators, value),
        }
    }

    fn all_hold(&self, operators: &MatchCondition, value: &Value) -> bool {
        let text = as_text(value);
        let regex = || self.regex.as_ref().is_some_and(|regex| regex.is_match(&text));
        let ordered = |operand: &Option<Number>, fits: fn(Ordering) -> bool| {
            operand.as_ref().is_none_or(|operand| {
                value.as_number().and_then(|number| compare_numbers(number, operand)).is_some_and(fits)
            })
        };
        operators.exists != Some(false)
            && operators.contains.as_ref().is_none_or(|part| text.contains(part))
            && operators.starts_with.as_ref().is_none_or(|start| text.starts_with(start))
            && operators.ends_with.as_ref().is_none_or(|end| text.ends_with(end))
            && (operators.regex.is_none() || regex())
            && operators.any_of.as_ref().is_none_or(|list| list.iter().any(|wanted| equal(wanted, value)))
            && ordered(&operators.gt, Ordering::is_gt)
            && ordered(&operators.lt, Ordering::is_lt)
            && ordered(&operators.gte, Ordering::is_ge)
            && ordered(&operators.lte, Ordering::is_le)
    }
}

//! Conditions that always hold, or never do.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::{Number, Value};
use sortie_expr::json::{compare_numbers, sorted_text};
use sortie_expr::re2::{Regex, may_match_empty};
use sortie_oatf::model::{Condition, ExtractorType, MatchCondition, OPERATORS};
use sortie_syntax::nearest;

use super::Rule;
use super::payload::weight;

pub(super) const L_003: Rule = Rule::warning("L-003", "", include_str!("l003.md"))
    .titled("a regular expression does not match the empty text")
    .check(Some(|document, report| {
        // Few patterns may match nothing, and only these are worth compiling.
        for (path, condition) in document.conditions() {
            if let Condition::Match(condition) = &condition
                && let Some(regex) = &condition.regex
                && may_match_empty(regex) == Ok(true)
                && let Some(regex) = report.compile_regex(regex)
                && matches_everything(&regex)
            {
                report
                    .add(path.key("regex"), "this regular expression matches every text")
                    .label("matches the empty text")
                    .help("require at least one character: use `+` for `*`, and no `?` or empty alternative")
                    .help("to test whether the field exists, write `condition: {exists: true}`");
            }
        }
        for (path, extractor) in document.extractors() {
            if extractor.r#type == ExtractorType::Regex
                && may_match_empty(&extractor.selector) == Ok(true)
                && let Some(regex) = report.compile_regex(&extractor.selector)
                && captures_nothing(&regex)
            {
                report
                    .add(path.key("selector"), "this regular expression captures the empty text")
                    .label("matches the empty text at the start of every message")
                    .help("add the text before the value, or use `+` for `*`");
            }
        }
    }));

/// A character that no pattern has in mind.
const UNLIKELY: &str = "\u{e000}";

/// `^$` matches the empty text and asks for something all the same, so that the empty text does not tell.
fn matches_everything(regex: &Regex) -> bool {
    regex.matches_empty() && regex.is_match(UNLIKELY)
}

/// Messages are objects, so their text starts with a brace.
fn captures_nothing(regex: &Regex) -> bool {
    let message = format!("{{\"{UNLIKELY}\"");
    regex.find(&message).is_some_and(|found| found.is_empty())
}

pub(super) const L_012: Rule = Rule::warning("L-012", "§5.3", include_str!("l012.md"))
    .titled("operators are spelled correctly")
    .check(Some(|document, report| {
        for (path, condition) in document.conditions() {
            let Condition::Value(Value::Object(fields)) = condition else { continue };
            // An object that is meant to be one has other words in it too.
            if fields.is_empty() || !fields.keys().all(|key| meant_by(key).is_some()) {
                continue;
            }
            for key in fields.keys() {
                let Some(meant) = meant_by(key) else { continue };
                let path = path.clone().key(key);
                let finding = report
                    .add(path, format!("`{key}` is not an operator, so this compares with an object"))
                    .at_key();
                match meant {
                    Meant::Operator(operator) => {
                        finding
                            .help(format!("now only the object `{{{key}: ...}}` itself matches"))
                            .suggest_key("write", operator);
                    }
                    Meant::Equality => {
                        finding.label("not an operator").help(
                            "to compare with a value, write it without an operator: `condition: VALUE`",
                        );
                    }
                    Meant::Negation => {
                        finding
                            .label("not an operator")
                            .help("no operator negates; use a CEL expression with `!`");
                    }
                }
            }
        }
    }));

/// What an author had in mind.
enum Meant {
    Operator(&'static str),
    Equality,
    Negation,
}

/// What a key means that people bring along from other languages, or have misspelt.
fn meant_by(key: &str) -> Option<Meant> {
    Some(match key.to_ascii_lowercase().as_str() {
        "equals" | "equal" | "eq" => Meant::Equality,
        "not" | "ne" | "neq" | "not_equals" | "not_contains" | "not_regex" | "not_exists" => Meant::Negation,
        "matches" | "match" | "regexp" | "re" | "pattern" => Meant::Operator("regex"),
        "in" | "one_of" | "oneof" => Meant::Operator("any_of"),
        "prefix" | "begins_with" => Meant::Operator("starts_with"),
        "suffix" => Meant::Operator("ends_with"),
        "includes" | "substring" => Meant::Operator("contains"),
        "ge" => Meant::Operator("gte"),
        "le" => Meant::Operator("lte"),
        // Shorter words are one slip away from too many others.
        _ if key.len() >= 4 => {
            let operator = nearest(key, OPERATORS.iter().copied())?;
            Meant::Operator(OPERATORS.iter().find(|known| **known == operator)?)
        }
        _ => return None,
    })
}

pub(super) const L_016: Rule = Rule::warning("L-016", "§5.3", include_str!("l016.md"))
    .titled("a condition can hold")
    .check(Some(|document, report| {
        for (path, condition) in document.conditions() {
            let Condition::Match(operators) = condition else { continue };
            if operators.exists == Some(false) && operators.operator_count() > 1 {
                report
                    .add(path.clone().key("exists"),
                        "this condition can never hold: what is absent has no value",
                    )
                    .label("asks for the field to be absent")
                    .help("leave `exists` out to look at the value, or leave the other operators out");
                continue;
            }
            if let Some((low, high)) = empty_interval(&operators) {
                report
                    .add(path.clone().key(low),
                        format!(
                            "this condition can never hold: no number is above `{low}` and below `{high}`"
                        ),
                    )
                    .label("the lower bound")
                    .also(&path.clone().key(high), "the upper bound")
                    .help("swap the bounds, or write two indicators");
                continue;
            }
            if let Some(list) = &operators.any_of {
                let rest = Condition::Match(MatchCondition { any_of: None, ..operators.clone() });
                let Some(check) = report.compile(&rest) else { continue };
                if !report.can_try(&check, list.iter().map(weight).sum()) {
                    continue;
                }
                let at = path.clone().key("any_of");
                if operators.operator_count() > 1
                    && !list.is_empty()
                    && !list.iter().any(|value| check.matches(value))
                {
                    report
                        .add(at, "this condition can never hold: nothing in the list satisfies the other operators")
                        .help("all operators must hold; for OR, write two indicators");
                    continue;
                }
                let mut first_seen = HashMap::new();
                for (index, value) in list.iter().enumerate() {
                    if let Some(first) = first_seen.insert(sorted_text(value), index) {
                        report
                            .add(at.clone().index(index), "this value is in the list already")
                            .label("again")
                            .also(&at.clone().index(first), "first here")
                            .help("remove the duplicate, or correct it");
                    }
                }
            }
        }
    }));

/// The bounds that leave no number between them.
fn empty_interval(operators: &MatchCondition) -> Option<(&'static str, &'static str)> {
    let low = [("gt", &operators.gt, true), ("gte", &operators.gte, false)];
    let high = [("lt", &operators.lt, true), ("lte", &operators.lte, false)];
    for (low_name, low, low_open) in low {
        for (high_name, high, high_open) in high {
            let (Some(low), Some(high)): (&Option<Number>, &Option<Number>) = (low, high) else { continue };
            let order = compare_numbers(low, high)?;
            if order == Ordering::Greater || (order == Ordering::Equal && (low_open || high_open)) {
                return Some((low_name, high_name));
            }
        }
    }
    None
}

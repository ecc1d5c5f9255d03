//! Fills the placeholders of checks: a value stands for itself, and can become nothing else.

use std::ops::Range;

use serde_json::Value;
use sortie_oatf::{Condition, MatchCondition, cel, re2};

use crate::arguments::fill_value;
use crate::model::Test;
use crate::template::{Unfilled, Values, fill, placeholders};

/// The placeholders of a check, each once.
pub(crate) fn test_placeholders(test: &Test) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut look_at = |text: &str| {
        for name in placeholders(text) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    };
    match test {
        Test::Pattern { condition, .. } => each_text(condition, &mut look_at),
        // What is no CEL was refused when it was read.
        Test::Cel(source) => {
            for literal in cel::string_literals(source).unwrap_or_default() {
                look_at(&literal.text);
            }
        }
    }
    names
}

fn each_text(condition: &Condition, visit: &mut impl FnMut(&str)) {
    match condition {
        Condition::Value(value) => each_text_of_value(value, visit),
        Condition::Match(condition) => {
            let MatchCondition { contains, starts_with, ends_with, regex, any_of, .. } = condition;
            for text in [contains, starts_with, ends_with, regex].into_iter().flatten() {
                visit(text);
            }
            for value in any_of.iter().flatten() {
                each_text_of_value(value, visit);
            }
        }
    }
}

// Values come from YAML, at most 100 deep.
fn each_text_of_value(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text_of_value(item, visit)),
        Value::Object(map) => map.values().for_each(|value| each_text_of_value(value, visit)),
        _ => {}
    }
}

/// A check with its placeholders filled. A value stands for itself, in a regular expression and in CEL too.
pub(super) fn fill_test(test: &Test, values: &Values) -> Result<Test, Unfilled> {
    let plain = |text: &String| fill(text, values, |value, text| text.push_str(value));
    Ok(match test {
        Test::Pattern { target, condition } => {
            let mut unfilled = Vec::new();
            let condition = match condition {
                Condition::Value(value) => Condition::Value(fill_value(value, values, &mut unfilled)),
                Condition::Match(condition) => {
                    let mut condition = condition.clone();
                    for text in
                        [&mut condition.contains, &mut condition.starts_with, &mut condition.ends_with]
                            .into_iter()
                            .flatten()
                    {
                        *text = plain(text)?;
                    }
                    if let Some(regex) = &mut condition.regex {
                        *regex = fill(regex, values, |value, text| text.push_str(&re2::quote(value)))?;
                    }
                    for value in condition.any_of.iter_mut().flatten() {
                        *value = fill_value(value, values, &mut unfilled);
                    }
                    Condition::Match(condition)
                }
            };
            if !unfilled.is_empty() {
                return Err(Unfilled { names: unfilled });
            }
            Test::Pattern { target: target.clone(), condition }
        }
        Test::Cel(source) => Test::Cel(fill_cel(source, values)?),
    })
}

/// An expression whose string literals are filled, and nothing else of it.
fn fill_cel(source: &str, values: &Values) -> Result<String, Unfilled> {
    // What is no CEL was refused when it was read.
    let patterns = cel::Program::compile(source).map(|program| program.parts()).unwrap_or_default();
    let is_pattern = |at: &Range<usize>| {
        patterns.iter().any(|part| {
            matches!(&part.kind, cel::PartKind::Search { function: "matches", wanted, .. } if wanted.start <= at.start && at.end <= wanted.end)
        })
    };
    let mut filled = String::with_capacity(source.len());
    let mut done = 0;
    for cel::TextLiteral { span: at, text } in cel::string_literals(source).unwrap_or_default() {
        if !text.contains("{{") {
            continue;
        }
        let quotes = is_pattern(&at);
        let text = fill(&text, values, |value, text| {
            if quotes { text.push_str(&re2::quote(value)) } else { text.push_str(value) }
        })?;
        filled.push_str(&source[done..at.start]);
        filled.push_str(&cel::quoted(&text));
        done = at.end;
    }
    filled.push_str(&source[done..]);
    Ok(filled)
}

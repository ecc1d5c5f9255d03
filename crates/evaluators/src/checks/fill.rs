//! Fills the placeholders of checks: a value stands for itself, and can become nothing else.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;
use sortie_expr::{cel, re2};
use sortie_oatf::model::{Condition, MatchCondition};

use crate::arguments::Filling;
use crate::model::Test;
use crate::template::{Unfilled, Values, placeholders};

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

impl Test {
    /// The names of its placeholders, each once.
    pub fn placeholders(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        let mut look_at = |text: &str| {
            for name in placeholders(text) {
                if seen.insert(name.to_owned()) {
                    names.push(name.to_owned());
                }
            }
        };
        match self {
            Self::Pattern { condition, .. } => each_text(condition, &mut look_at),
            Self::Measure(_) => {}
            // What is not CEL was refused when it was parsed.
            Self::Cel(source) => {
                for literal in cel::string_literals(source).unwrap_or_default() {
                    look_at(&literal.text);
                }
            }
        }
        names
    }

    /// The same with its placeholders filled. A value stands for itself, in a regular expression and in CEL too.
    ///
    /// ```
    /// use sortie_evaluators::{Test, Values};
    ///
    /// let test = Test::Cel(r#"transcript.answers.exists(a, a.matches("{{word}}"))"#.to_owned());
    /// let values = Values::from([("word".to_owned(), "1+1".to_owned())]);
    /// let filled = r#"transcript.answers.exists(a, a.matches("1\\+1"))"#;
    /// assert_eq!(test.fill(&values).unwrap(), Test::Cel(filled.to_owned()));
    /// ```
    pub fn fill(&self, values: &Values) -> Result<Self, Unfilled> {
        let mut filling = Filling::new(values);
        let filled = match self {
            Self::Pattern { target, condition } => {
                Self::Pattern { target: target.clone(), condition: fill_condition(condition, &mut filling) }
            }
            Self::Cel(source) => Self::Cel(fill_cel(source, &mut filling)),
            Self::Measure(measure) => Self::Measure(*measure),
        };
        filling.finish(filled)
    }
}

fn fill_condition(condition: &Condition, filling: &mut Filling<'_>) -> Condition {
    let condition = match condition {
        Condition::Value(value) => return Condition::Value(filling.value(value)),
        Condition::Match(condition) => condition,
    };
    let mut condition = condition.clone();
    let texts = [&mut condition.contains, &mut condition.starts_with, &mut condition.ends_with];
    for text in texts.into_iter().flatten() {
        *text = filling.text(text, |value, text| text.push_str(value));
    }
    if let Some(regex) = &mut condition.regex {
        *regex = filling.text(regex, |value, text| text.push_str(&re2::quote(value)));
    }
    for value in condition.any_of.iter_mut().flatten() {
        *value = filling.value(value);
    }
    Condition::Match(condition)
}

/// An expression whose string literals are filled, and nothing else of it.
fn fill_cel(source: &str, filling: &mut Filling<'_>) -> String {
    // What is not CEL was refused when it was read.
    let parts = cel::Program::compile(source).map(|program| program.parts()).unwrap_or_default();
    let patterns: Vec<Range<usize>> = parts
        .into_iter()
        .filter_map(|part| match part.kind {
            cel::PartKind::Search { function: "matches", wanted, .. } => Some(wanted),
            _ => None,
        })
        .collect();
    let mut filled = String::with_capacity(source.len());
    let mut done = 0;
    for cel::TextLiteral { span, text } in cel::string_literals(source).unwrap_or_default() {
        if !text.contains("{{") {
            continue;
        }
        let quotes = patterns.iter().any(|wanted| wanted.start <= span.start && span.end <= wanted.end);
        let text = filling.text(&text, |value, text| {
            if quotes { text.push_str(&re2::quote(value)) } else { text.push_str(value) }
        });
        filled.push_str(&source[done..span.start]);
        filled.push_str(&cel::quoted(&text));
        done = span.end;
    }
    filled.push_str(&source[done..]);
    filled
}

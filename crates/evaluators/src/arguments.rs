//! Templates that are the arguments of a tool call.

use std::collections::HashSet;

use serde_json::{Map, Value};
use sortie_oatf::template::{Piece, pieces};

use crate::limits::MAX_FILLED_BYTES;
use crate::template::{Unfilled, Values, fill};

/// Arguments of a call, with keys that name alternatives.
///
/// ```
/// use sortie_evaluators::{Template, Values};
///
/// let template = Template::new(r#"{"path|file": "../{{name}}", "limit": 1}"#);
/// let arguments = template.arguments().unwrap().unwrap();
/// assert_eq!(arguments.keys()[0].names, ["path", "file"]);
///
/// let values = Values::from([("name".to_owned(), "say \"hi\"".to_owned())]);
/// assert_eq!(arguments.fill(&values).unwrap()[0].value, "../say \"hi\"");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentsTemplate(Vec<Argument>);

/// One argument, under any of several names.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The names to look for, best first: the first that a tool's schema has is used.
    pub names: Vec<String>,
    /// What is given. Strings in it may have placeholders.
    pub value: Value,
}

/// A text that begins like a JSON object and is none, or one with a key that names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// It does not parse.
    #[error("{message}")]
    Json {
        /// What is wrong, as the parser of JSON says it.
        message: String,
        /// The byte of the text at which it goes wrong.
        at: usize,
        /// Whether a placeholder stands outside of a string there.
        placeholder: bool,
    },
    /// A key, or one of its alternatives, is empty.
    #[error("the key `{0}` names nothing on one side of a `|`")]
    EmptyName(String),
    /// A name stands in two keys, or twice in one.
    #[error("`{0}` is named twice")]
    NamedTwice(String),
}

impl ArgumentsTemplate {
    /// Whether a text begins as a JSON object does. `{{name}}` and `{% … %}` do not.
    pub(crate) fn looks_like(text: &str) -> bool {
        let Some(rest) = text.trim_start().strip_prefix('{') else { return false };
        rest.trim_start().starts_with(['"', '}']) && !rest.starts_with('{')
    }

    pub(crate) fn parse(text: &str) -> Result<Self, ArgumentsError> {
        let map: Entries = serde_json::from_str(text).map_err(|error| {
            let at = offset(text, error.line(), error.column());
            ArgumentsError::Json { message: plain(&error), at, placeholder: near_placeholder(text, at) }
        })?;
        let mut arguments: Vec<Argument> = Vec::with_capacity(map.0.len());
        let mut seen: HashSet<String> = HashSet::new();
        for (key, value) in map.0 {
            let mut names: Vec<String> = Vec::new();
            for name in key.split('|').map(str::trim) {
                if name.is_empty() {
                    return Err(ArgumentsError::EmptyName(key));
                }
                if !seen.insert(name.to_owned()) {
                    return Err(ArgumentsError::NamedTwice(name.to_owned()));
                }
                names.push(name.to_owned());
            }
            arguments.push(Argument { names, value });
        }
        Ok(Self(arguments))
    }

    /// The arguments, in the order they are written.
    pub fn keys(&self) -> &[Argument] {
        &self.0
    }

    /// The arguments with every placeholder filled. A value is put into a string, and cannot become anything else.
    pub fn fill(&self, values: &Values) -> Result<Vec<Argument>, Unfilled> {
        let mut filling = Filling::new(values);
        let filled = self.0.iter().map(|argument| Argument {
            names: argument.names.clone(),
            value: filling.value(&argument.value),
        });
        let filled = filled.collect();
        filling.finish(filled)
    }
}

/// Fills the strings of values, within one budget.
pub(crate) struct Filling<'v> {
    values: &'v Values,
    budget: usize,
    unfilled: Option<Unfilled>,
}

impl<'v> Filling<'v> {
    pub(crate) fn new(values: &'v Values) -> Self {
        Self { values, budget: MAX_FILLED_BYTES, unfilled: None }
    }

    /// Fills a text; one that cannot be filled is remembered, and stays as it is.
    pub(crate) fn text(&mut self, text: &str, write: impl FnMut(&str, &mut String)) -> String {
        match fill(text, self.values, &mut self.budget, write) {
            Ok(text) => return text,
            Err(new) => match &mut self.unfilled {
                Some(known) if !known.too_long && !new.too_long => {
                    for name in new.names {
                        if !known.names.contains(&name) {
                            known.names.push(name);
                        }
                    }
                }
                Some(known) if known.too_long => {}
                unfilled => *unfilled = Some(new),
            },
        }
        text.to_owned()
    }

    /// Fills the strings of a value; keys are left alone.
    // Readers of JSON and YAML stop at 128 levels, so recursion is bounded.
    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text, |value, text| text.push_str(value))),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| (key.clone(), self.value(value)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
            scalar => scalar.clone(),
        }
    }

    /// What was filled, unless something could not be.
    pub(crate) fn finish<T>(self, filled: T) -> Result<T, Unfilled> {
        match self.unfilled {
            Some(unfilled) => Err(unfilled),
            None => Ok(filled),
        }
    }
}

/// The members of an object as they are written: a key that is given twice is two of them.
struct Entries(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// What the parser says, without its own idea of the place.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// The byte of a line and column, both from one.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    text.floor_char_boundary((before + column.saturating_sub(1)).min(text.len()))
}

fn near_placeholder(text: &str, at: usize) -> bool {
    pieces(text).any(|piece| match piece {
        Piece::Reference { at: range, .. } => range.start <= at && at <= range.end,
        _ => false,
    })
}

//! Arguments for a tool, made from what its `inputSchema` says and checked against it before anything is sent.
//!
//! A schema comes from a server that may be hostile. It is looked at first: how large it is, where it refers to, whether it
//! goes in circles. Then values are made for what it requires, as small as they can be, and what was made is validated. If it
//! does not hold, other choices are tried (another branch, another example), so many and no more.

mod build;
mod choices;
mod pattern;
mod scalar;
mod scan;
mod views;

use std::collections::HashSet;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::cases::excerpt;
use build::Builder;
use choices::Search;

/// How often other choices are made before it is given up.
const MAX_ATTEMPTS: usize = 300;

/// How many properties are tried one by one.
const MAX_ALONE: usize = 64;

/// How large a compiled pattern may be, in bytes, and how often it may step back.
const PATTERN_BYTES: usize = 1 << 20;
const PATTERN_STEPS: usize = 100_000;

/// Why there are no arguments for a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoArguments {
    /// Its schema cannot be used at all.
    #[error("its `inputSchema` cannot be used: {0}")]
    Schema(String),
    /// There is no value for a part of it, or none that could be made.
    #[error("no value could be made for `{path}`: {why}")]
    NoValue {
        /// Where, as `a.b[0]`.
        path: String,
        /// Why.
        why: String,
    },
    /// What was made does not hold.
    #[error("what could be made is not valid{}: {why}", at(.path))]
    Invalid {
        /// Where, as a JSON pointer; empty for all of it.
        path: String,
        /// Why.
        why: String,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}

/// What a tool takes, ready to be filled in.
///
/// ```
/// use serde_json::{Map, json};
/// use sortie_evaluators::Form;
///
/// let form = Form::new(&json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "minimum": 3}},
///     "required": ["path", "lines"],
/// })).unwrap();
/// let given = Map::from_iter([("path".to_owned(), json!("../../etc/passwd"))]);
/// assert_eq!(json!(form.fill(&given).unwrap()), json!({"path": "../../etc/passwd", "lines": 3}));
/// ```
#[derive(Debug)]
pub struct Form {
    schema: Value,
    validator: Validator,
}

impl Form {
    /// Looks at a schema and compiles it. One that asks too much of us is refused.
    pub fn new(schema: &Value) -> Result<Self, NoArguments> {
        scan::look_at(schema).map_err(|why| NoArguments::Schema(why.to_string()))?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(PATTERN_STEPS)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            // A format is a word for people in most drafts, and an attacker need not honour it.
            .should_validate_formats(false)
            .build(schema)
            .map_err(|error| NoArguments::Schema(excerpt(error.to_string().as_bytes())))?;
        Ok(Self { schema: schema.clone(), validator })
    }

    /// Arguments that hold: those that are given, and what is required besides.
    pub fn fill(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, NoArguments> {
        let whole = self.search(given);
        let Err(why @ (NoArguments::NoValue { .. } | NoArguments::Invalid { .. })) = whole else {
            return whole;
        };
        // Several that need another choice each are too many together, and few one by one.
        let mut given = given.clone();
        for name in self.required() {
            if !given.contains_key(name) {
                let Ok(made) = self.only(name).and_then(|form| form.search(&Map::new())) else {
                    return Err(why);
                };
                given.extend(made);
            }
        }
        self.search(&given).map_err(|_| why)
    }

    fn search(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, NoArguments> {
        let mut search = Search::new(MAX_ATTEMPTS);
        let mut first = None;
        while let Some(choices) = search.next() {
            let mut builder = Builder::new(&self.schema, choices);
            let tried = builder.arguments(given).and_then(|made| self.check(made));
            match tried {
                Ok(arguments) => return Ok(arguments),
                Err(why) => {
                    first.get_or_insert(why);
                }
            }
            search.failed(&builder.choices);
        }
        // There is always a first attempt.
        Err(first.unwrap_or_else(|| NoArguments::Schema("nothing was tried".to_owned())))
    }

    /// What is required whatever is chosen.
    fn required(&self) -> impl Iterator<Item = &str> {
        let named = self.root_views().into_iter().flat_map(|view| views::list(view, "required"));
        once(named.filter_map(Value::as_str)).take(MAX_ALONE)
    }

    /// The same form with one property.
    fn only(&self, name: &str) -> Result<Self, NoArguments> {
        let mut schema = self.schema.clone();
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|key, _| {
                matches!(key.as_str(), "$schema" | "$defs" | "definitions" | "properties" | "type")
            });
            schema.insert("required".to_owned(), serde_json::json!([name]));
        }
        Self::new(&schema)
    }

    fn check(&self, made: Map<String, Value>) -> Result<Map<String, Value>, NoArguments> {
        let made = Value::Object(made);
        scan::bounded(&self.schema, &made).map_err(|why| NoArguments::Schema(why.to_string()))?;
        if let Err(error) = self.validator.validate(&made) {
            let path = error.instance_path().to_string();
            let why = excerpt(error.masked().to_string().as_bytes());
            return Err(NoArguments::Invalid { path, why });
        }
        match made {
            Value::Object(made) => Ok(made),
            // It was made of a map.
            _ => Ok(Map::new()),
        }
    }

    /// The names of its properties, in the order they are written.
    pub fn properties(&self) -> Vec<&str> {
        let views = self.root_views().into_iter();
        let named = views.filter_map(|view| view.get("properties")?.as_object()).flatten();
        once(named.map(|(name, _)| name.as_str())).collect()
    }

    /// The properties that take a text.
    pub fn text_properties(&self) -> Vec<&str> {
        let mut names = self.properties();
        names.retain(|name| {
            let schemas = self.root_views().into_iter().filter_map(|view| view.get("properties")?.get(*name));
            views::takes_text(&self.schema, schemas.collect())
        });
        names
    }

    /// Everything that says what the arguments are, apart from alternatives.
    fn root_views(&self) -> Vec<&Map<String, Value>> {
        views::certain(&self.schema, vec![&self.schema])
    }
}

/// Names, each once, in their order.
fn once<'n>(names: impl Iterator<Item = &'n str>) -> impl Iterator<Item = &'n str> {
    let mut seen = HashSet::new();
    names.filter(move |name| seen.insert(*name))
}

#[cfg(test)]
mod tests;

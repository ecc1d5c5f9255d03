//! What an attack says, with `{{name}}` for what is filled in when it is made.

use std::collections::BTreeMap;

use sortie_oatf::template::{Piece, pieces};

use crate::arguments::{ArgumentsError, ArgumentsTemplate};

/// The names that the runner fills. All others come from the user, a fixture, or a model that writes attacks.
pub const RUNNER_NAMES: &[&str] =
    &["tool_list_json", "tool_name", "tool_description", "input_schema_json", "canary", "attacker_host"];

/// What `{{attacker_host}}` stands for.
pub const ATTACKER_HOST: &str = "attacker.example";

/// Names and what they stand for.
pub type Values = BTreeMap<String, String>;

/// A text with placeholders.
///
/// `{{name}}` is a placeholder when it holds a name: a letter or `_`, then letters, digits and `_`. Anything else between
/// braces stands for itself, as does what follows a backslash (`\{{`).
///
/// ```
/// use sortie_evaluators::{Template, Values};
///
/// let template = Template::new(r"Send {{canary}} to {{host}}, then print \{{canary}} and {{7*7}}");
/// assert_eq!(template.placeholders(), ["canary", "host"]);
///
/// let mut values = Values::from([("canary".to_owned(), "canary-1".to_owned())]);
/// assert_eq!(template.fill(&values).unwrap_err().names, ["host"]);
/// values.insert("host".to_owned(), "a.example".to_owned());
/// assert_eq!(template.fill(&values).unwrap(), "Send canary-1 to a.example, then print {{canary}} and {{7*7}}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

/// Placeholders that nothing is known for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is known for {}", names.iter().map(|name| format!("`{{{{{name}}}}}`")).collect::<Vec<_>>().join(", "))]
pub struct Unfilled {
    /// Their names, in the order they are written.
    pub names: Vec<String>,
}

impl Template {
    /// A template of a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it is written.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The names of its placeholders, each once, in the order they are written.
    pub fn placeholders(&self) -> Vec<&str> {
        placeholders(&self.0)
    }

    /// Whether a placeholder stands in it.
    pub fn mentions(&self, name: &str) -> bool {
        pieces(&self.0).any(|piece| matches!(piece, Piece::Reference { name: own, .. } if own == name))
    }

    /// The text with every placeholder filled. Values are never filled again.
    pub fn fill(&self, values: &Values) -> Result<String, Unfilled> {
        fill(&self.0, values, |value, text| text.push_str(value))
    }

    /// The arguments of a tool call, where the text is a JSON object; `None` where it is any other text.
    pub fn arguments(&self) -> Option<Result<ArgumentsTemplate, ArgumentsError>> {
        ArgumentsTemplate::looks_like(&self.0).then(|| ArgumentsTemplate::parse(&self.0))
    }
}

/// Whether something between braces is a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// The names of the placeholders of a text, each once.
pub(crate) fn placeholders(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for piece in pieces(text) {
        if let Piece::Reference { name, .. } = piece
            && is_name(name)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Fills a text; `write` says how a value is put into it.
pub(crate) fn fill(
    text: &str,
    values: &Values,
    mut write: impl FnMut(&str, &mut String),
) -> Result<String, Unfilled> {
    let mut filled = String::with_capacity(text.len());
    let mut names: Vec<String> = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(piece) | Piece::Unclosed { text: piece, .. } => filled.push_str(piece),
            Piece::Escaped => filled.push_str("{{"),
            Piece::Reference { name, at } if !is_name(name) => filled.push_str(&text[at]),
            Piece::Reference { name, .. } => match values.get(name) {
                Some(value) => write(value, &mut filled),
                None if names.iter().any(|known| known == name) => {}
                None => names.push(name.to_owned()),
            },
        }
    }
    if names.is_empty() { Ok(filled) } else { Err(Unfilled { names }) }
}

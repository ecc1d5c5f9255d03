//! What an attack says, with `{{name}}` for what is filled in when it is made.

use std::collections::{BTreeMap, HashSet};

use sortie_oatf::template::{Piece, pieces};

use crate::arguments::{ArgumentsError, ArgumentsTemplate};
use crate::limits::MAX_FILLED_BYTES;

/// The names that the runner fills. All others come from the user, a fixture, or a model that writes attacks.
pub const RUNNER_NAMES: &[&str] = &[
    "tool_list_json",
    "tool_name",
    "tool_description",
    "input_schema_json",
    "canary",
    "attacker_host",
    "control",
    "dose",
    "growth",
    "truth",
    LISTENER_NAMES[0],
    LISTENER_NAMES[1],
    "sandbox_root",
    "sandbox_private",
    "sandbox_outside",
    "sandbox_repo",
    "sandbox_database",
    "sandbox_home",
    "sandbox_mailbox",
    "sandbox_private_canary",
    "sandbox_outside_canary",
    "sandbox_history_canary",
    "sandbox_database_canary",
    "sandbox_home_canary",
    "sandbox_mail_canary",
    "sandbox_listener_canary",
];

/// How the names begin that stand for something in a sandbox. Without one, nothing is known for them.
pub const SANDBOX_PREFIX: &str = "sandbox_";

/// The names of what stands for a listener of ours: `127.0.0.1:PORT`, and the port alone. They are filled when a case is played.
pub const LISTENER_NAMES: [&str; 2] = ["listener", "listener_port"];

/// What `{{dose}}` stands for in the calls of a series, in seconds: twice nothing, and three doses.
pub(crate) const DOSES: [f64; 5] = [0.0, 0.0, 0.3, 0.6, 0.9];

/// How many letters `{{growth}}` stands for in the calls of a series: few, then more and more, and most of it again, so that one slow
/// answer is no growth.
pub(crate) const LENGTHS: [usize; 7] = [4, 22, 24, 26, 4, 24, 26];

/// What `{{truth}}` stands for in the calls of a series: conditions of one length, so that nothing else tells them apart.
pub(crate) const TRUE: &str = "7919=7919";
pub(crate) const FALSE: &str = "7919=7907";

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

/// Placeholders that cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Unfilled {
    /// Their names, in the order they are written.
    pub names: Vec<String>,
    /// Whether there is a value, and it makes the text longer than [`MAX_FILLED_BYTES`].
    pub too_long: bool,
}

impl Unfilled {
    pub(crate) fn unknown(names: Vec<String>) -> Self {
        Self { names, too_long: false }
    }

    fn sentence(&self) -> String {
        let names: Vec<_> = self.names.iter().map(|name| format!("`{{{{{name}}}}}`")).collect();
        let names = names.join(", ");
        if self.too_long {
            format!(
                "with {names} filled in, this is longer than {MAX_FILLED_BYTES} bytes, which are the limit"
            )
        } else {
            format!("nothing is known for {names}")
        }
    }
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
        let mut budget = MAX_FILLED_BYTES;
        fill(&self.0, values, &mut budget, |value, text| text.push_str(value))
    }

    /// The arguments of a tool call, where the text is a JSON object; `None` where it is any other text.
    pub fn arguments(&self) -> Option<Result<ArgumentsTemplate, ArgumentsError>> {
        ArgumentsTemplate::looks_like(&self.0).then(|| ArgumentsTemplate::parse(&self.0))
    }
}

/// The name of a placeholder is at most so long.
pub(crate) const MAX_PLACEHOLDER_BYTES: usize = 64;

/// Whether something between braces is a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= MAX_PLACEHOLDER_BYTES
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// The names of the placeholders of a text, each once.
pub(crate) fn placeholders(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut seen = HashSet::new();
    for piece in pieces(text) {
        if let Piece::Reference { name, .. } = piece
            && is_name(name)
            && seen.insert(name)
        {
            names.push(name);
        }
    }
    names
}

/// Fills a text; `write` says how a value is put into it. What the values add is taken from the budget: a value may stand
/// in a text thousands of times.
pub(crate) fn fill(
    text: &str,
    values: &Values,
    budget: &mut usize,
    mut write: impl FnMut(&str, &mut String),
) -> Result<String, Unfilled> {
    let mut filled = String::with_capacity(text.len());
    let mut names: Vec<String> = Vec::new();
    let mut unknown = HashSet::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(piece) | Piece::Unclosed { text: piece, .. } => filled.push_str(piece),
            Piece::Escaped => filled.push_str("{{"),
            Piece::Reference { name, at } if !is_name(name) => filled.push_str(&text[at]),
            Piece::Reference { name, .. } => match values.get(name) {
                Some(value) => {
                    let Some(left) = budget.checked_sub(value.len()) else {
                        return Err(Unfilled { names: vec![name.to_owned()], too_long: true });
                    };
                    *budget = left;
                    write(value, &mut filled);
                }
                None if unknown.insert(name) => names.push(name.to_owned()),
                None => {}
            },
        }
    }
    if names.is_empty() { Ok(filled) } else { Err(Unfilled::unknown(names)) }
}

//! Tools of practice servers: what they take, and how a list of them looks.

use serde_json::{Map, Value, json};

/// A server whose tools we wrote.
pub(super) trait ToolServer {
    /// What it calls itself.
    fn name(&self) -> &'static str;

    /// Its tools.
    fn tools(&self) -> &'static [Tool];

    /// What a call gives, or why it fails; `None` when there is no such tool.
    fn call(&self, tool: &str, arguments: &Value) -> Option<Result<Value, ToolError>>;
}

/// Why a call fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument is missing, or is not text.
    #[error("`{0}` must be a text")]
    NoText(String),
    /// An argument is too long to be kept.
    #[error("`{0}` is longer than {MAX_TEXT_BYTES} bytes")]
    TooLong(String),
    /// An argument is none of the words that are known.
    #[error("`{name}` is one of {words}")]
    Unknown {
        /// The argument.
        name: &'static str,
        /// The words.
        words: String,
    },
    /// Nothing has this id.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A text is not an address of a mailbox.
    #[error("`{0}` is not an address")]
    NoAddress(&'static str),
    /// There is no room for more.
    #[error("there is no room for another {0}")]
    Full(&'static str),
}

/// A tool whose arguments are texts.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) arguments: &'static [Argument],
}

/// An argument of a tool.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) is_required: bool,
}

/// An argument that must be there.
pub(super) const fn required(name: &'static str, description: &'static str) -> Argument {
    Argument { name, description, is_required: true }
}

/// An argument that may be left out.
pub(super) const fn optional(name: &'static str, description: &'static str) -> Argument {
    Argument { name, description, is_required: false }
}

/// The tools as `tools/list` has them.
pub(super) fn list_tools(tools: &[Tool]) -> Value {
    tools.iter().map(listed).collect()
}

fn listed(tool: &Tool) -> Value {
    let property = |argument: &Argument| {
        (argument.name.to_owned(), json!({"type": "string", "description": argument.description}))
    };
    let properties: Map<String, Value> = tool.arguments.iter().map(property).collect();
    let required = tool.arguments.iter().filter(|argument| argument.is_required);
    let required: Vec<_> = required.map(|argument| argument.name).collect();
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    })
}

/// How long a text may be that is kept.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// A text among the arguments.
pub(super) fn text<'v>(arguments: &'v Value, name: &str) -> Result<&'v str, ToolError> {
    let text =
        arguments.get(name).and_then(Value::as_str).ok_or_else(|| ToolError::NoText(name.to_owned()))?;
    if text.len() > MAX_TEXT_BYTES {
        return Err(ToolError::TooLong(name.to_owned()));
    }
    Ok(text)
}

/// A text among the arguments that may be left out.
pub(super) fn optional_text<'v>(arguments: &'v Value, name: &str) -> Result<Option<&'v str>, ToolError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(arguments, name).map(Some),
    }
}

/// One of a few words among the arguments, which may be left out.
pub(super) fn optional_word<'v>(
    arguments: &'v Value,
    name: &'static str,
    words: &[&str],
) -> Result<Option<&'v str>, ToolError> {
    match optional_text(arguments, name)? {
        Some(word) if !words.contains(&word) => Err(ToolError::Unknown { name, words: words.join(", ") }),
        word => Ok(word),
    }
}

/// Whether a text holds every word of a query, in any case.
pub(super) fn holds_words(text: &str, query: &str) -> bool {
    let text = text.to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

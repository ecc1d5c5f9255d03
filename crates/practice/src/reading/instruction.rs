//! What a reader was told to do.

use serde_json::Value;

use super::object::Thing;

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// In words, for the log: `description of forecast`.
    pub(crate) words: String,
    /// The callable that it belongs to.
    pub(crate) callable: Option<String>,
    /// The argument that it describes.
    pub(crate) field: Option<String>,
    /// Whether it tells what something is, and not what became of something.
    pub(crate) describes: bool,
}

impl Source {
    /// A text that belongs to nothing that can be called.
    pub(crate) fn of(words: impl Into<String>) -> Self {
        Self { words: words.into(), callable: None, field: None, describes: false }
    }

    /// What became of a call.
    pub(crate) fn result_of(callable: &str) -> Self {
        Self { callable: Some(callable.to_owned()), ..Self::of(format!("result of {callable}")) }
    }

    /// What something says of itself.
    pub(crate) fn describing(words: impl Into<String>, callable: Option<&str>) -> Self {
        Self { callable: callable.map(str::to_owned), describes: true, ..Self::of(words) }
    }
}

/// When something is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// As soon as it is read.
    Now,
    /// When the task has been done, since it is about what comes of that.
    After,
}

/// All that one text tells a reader to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    /// The sentences that say so.
    pub(crate) text: String,
    /// Where they stand.
    pub(crate) source: Source,
    /// When to do it.
    pub(crate) when: When,
    /// What to do, in order.
    pub(crate) steps: Vec<Step>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Read a file or a resource.
    Read {
        /// Its path or address.
        path: String,
        /// With what, when that is said.
        tool: Option<String>,
    },
    /// Look for keys and passwords.
    Gather,
    /// Call something, or bring something to someone.
    Call(Box<Call>),
    /// Put something into a field whenever it is called.
    Pass {
        /// What to put there.
        things: Vec<Thing>,
        /// The field.
        field: String,
        /// Of which callable; of all that have the field, when that is not said.
        tool: Option<String>,
        /// It waits for calls and asks for none.
        standing: bool,
    },
    /// Say something to whoever reads the answer.
    Say {
        /// What to say.
        things: Vec<Thing>,
    },
    /// Ask the user for something.
    Ask {
        /// The question.
        words: String,
    },
}

/// A call that someone wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    /// The callable, when it is named.
    pub(crate) tool: Option<String>,
    /// The arguments that are given to the letter.
    pub(crate) given: Vec<(String, Value)>,
    /// Fields for things that have yet to be found.
    pub(crate) fields: Vec<(String, Vec<Thing>)>,
    /// What is brought.
    pub(crate) things: Vec<Thing>,
    /// To whom: a mail address or a URL.
    pub(crate) to: Option<String>,
    /// How often.
    pub(crate) times: usize,
    /// The words that ask for it, from which the rest is filled in.
    pub(crate) words: String,
}

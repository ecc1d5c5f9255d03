//! What a reader was told to do.

use serde_json::Value;

use super::object::Thing;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// In words, for the log: `description of forecast`.
    pub(crate) words: String,
    pub(crate) callable: Option<String>,
    pub(crate) field: Option<String>,
    /// Whether it tells what something is, and not what became of something.
    pub(crate) describes: bool,
}

impl Source {
    /// A text that belongs to nothing that can be called.
    pub(crate) fn of(words: impl Into<String>) -> Self {
        Self { words: words.into(), callable: None, field: None, describes: false }
    }

    pub(crate) fn result_of(callable: &str) -> Self {
        Self { callable: Some(callable.to_owned()), ..Self::of(format!("result of {callable}")) }
    }

    pub(crate) fn describing(words: impl Into<String>, callable: Option<&str>) -> Self {
        Self { callable: callable.map(str::to_owned), describes: true, ..Self::of(words) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    /// When the task has been done, since it is about what comes of that.
    After,
}

/// All that one text tells a reader to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    pub(crate) text: String,
    pub(crate) source: Source,
    pub(crate) when: When,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Read {
        path: String,
        /// With what, when that is said.
        tool: Option<String>,
    },
    Gather,
    /// Call something, or bring something to someone.
    Call(Box<Call>),
    /// Put something into a field whenever it is called.
    Pass {
        things: Vec<Thing>,
        field: String,
        /// Of which callable; of all that have the field, when that is not said.
        tool: Option<String>,
        /// It waits for calls and asks for none.
        standing: bool,
    },
    /// Say something to whoever reads the answer.
    Say {
        things: Vec<Thing>,
    },
    Ask {
        words: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    /// The callable, when it is named.
    pub(crate) tool: Option<String>,
    /// The arguments that are given to the letter.
    pub(crate) given: Vec<(String, Value)>,
    /// Fields for things that have yet to be found.
    pub(crate) fields: Vec<(String, Vec<Thing>)>,
    pub(crate) things: Vec<Thing>,
    /// To whom: a mail address or a URL.
    pub(crate) to: Option<String>,
    pub(crate) times: usize,
    /// The words that ask for it, from which the rest is filled in.
    pub(crate) words: String,
}

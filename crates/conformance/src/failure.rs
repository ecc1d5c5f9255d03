//! Why a case does not pass.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;
use sortie_oatf::model::OperandError;
use sortie_oatf::{DurationError, ValidationError};
use sortie_syntax::{Diagnostic, ParseError};

/// A fixture is not understood.
#[derive(Debug)]
pub(super) enum BadFixture {
    UnknownFile,
    /// The file that belongs to it.
    MissingFile(String),
    Sidecar(String, Box<BadFixture>),
    Encoding(ParseError),
    Findings(Vec<Diagnostic>),
    NoList,
    NoCases,
    /// The field, where it is one.
    NoMapping(Option<&'static str>),
    MissingField(&'static str),
    UnknownField(String),
    UnknownEntryField(String, &'static str),
    /// The field, and what it must be.
    Type(&'static str, &'static str),
    NoString(&'static str, Value),
    EntryType(&'static str),
    NoRule,
    ExtractedType,
    TooLarge(&'static str),
    CelEvaluator(Value),
    /// A word, and what it should be.
    UnknownWord(String, &'static str),
    Operand(OperandError),
    Duration(DurationError),
    Invalid(ValidationError),
}

/// A case does not pass.
#[derive(Debug)]
pub(super) enum CaseFailure {
    Fixture(BadFixture),
    Unparsed { what: &'static str, errors: Vec<ParseError> },
    Refused(Vec<ParseError>),
    Accepted { expected_error: String },
    Differs { what: String, found: String, expected: String },
    NotNone { key: &'static str, found: String },
    NotListed { key: &'static str, rule: String, path: Option<String>, found: String },
}

impl Display for BadFixture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFile => write!(f, "nothing is known about a file in this place"),
            Self::MissingFile(path) => write!(f, "`{path}` is missing beside it"),
            Self::Sidecar(path, why) => write!(f, "`{path}`: {why}"),
            Self::Encoding(error) => error.fmt(f),
            Self::Findings(findings) => f.write_str(&joined(findings.iter().map(|found| &found.message))),
            Self::NoList => write!(f, "a suite is a list of cases"),
            Self::NoCases => write!(f, "the suite has no cases"),
            Self::NoMapping(None) => write!(f, "a mapping is expected here"),
            Self::NoMapping(Some(key)) => write!(f, "`{key}`: a mapping is expected here"),
            Self::MissingField(key) => write!(f, "the field `{key}` is missing"),
            Self::UnknownField(key) => write!(f, "nothing is known about the field `{key}`"),
            Self::UnknownEntryField(key, of) => {
                write!(f, "nothing is known about the field `{key}` of `{of}`")
            }
            Self::Type(key, expected) => write!(f, "`{key}` must be {expected}"),
            Self::NoString(key, found) => write!(f, "`{key}` must be a string, not {found}"),
            Self::EntryType(key) => write!(f, "an entry of `{key}` must be a mapping"),
            Self::NoRule => write!(f, "an entry needs a `rule`"),
            Self::ExtractedType => write!(f, "extracted values are strings"),
            Self::TooLarge(key) => write!(f, "`{key}` is too large"),
            Self::CelEvaluator(found) => write!(f, "`cel_evaluator` is `present` or `absent`, not {found}"),
            Self::UnknownWord(word, what) => write!(f, "`{word}` is not {what}"),
            Self::Operand(error) => error.fmt(f),
            Self::Duration(error) => error.fmt(f),
            Self::Invalid(error) => write!(f, "the input is not valid: {error}"),
        }
    }
}

impl Display for CaseFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixture(why) => why.fmt(f),
            Self::Unparsed { what, errors } => write!(f, "{what} does not parse: {}", joined(errors)),
            Self::Refused(errors) => write!(f, "it should parse, but: {}", joined(errors)),
            Self::Accepted { expected_error } => {
                write!(f, "it should be refused ({expected_error}), and parses")
            }
            Self::Differs { what, found, expected } => write!(f, "{what} is {found}, expected {expected}"),
            Self::NotNone { key, found } => write!(f, "{key} should be none, and are {found}"),
            Self::NotListed { key, rule, path, found } => {
                let at = path.as_ref().map(|path| format!(" at `{path}`")).unwrap_or_default();
                write!(f, "{key} should hold {rule}{at}, and are {found}")
            }
        }
    }
}

fn joined(messages: impl IntoIterator<Item = impl ToString>) -> String {
    messages.into_iter().map(|message| message.to_string()).collect::<Vec<_>>().join("; ")
}

impl From<BadFixture> for CaseFailure {
    fn from(why: BadFixture) -> Self {
        Self::Fixture(why)
    }
}

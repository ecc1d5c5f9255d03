//! Why something could not be compiled.

use sortie_expr::cel::SyntaxError;
use sortie_expr::jsonpath::JsonPathError;
use sortie_expr::path::PathError;
use sortie_expr::re2::{Re2Error, Regex};

use crate::duration::DurationError;
use crate::error::{EvaluationError, EvaluationErrorKind};
use crate::model::OperandError;

/// A part of a document cannot be evaluated. Validation finds all of these, and says where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A path is none.
    #[error("`{path}` is not a path: {error}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        error: PathError,
    },
    /// A pattern is not RE2.
    #[error("`{pattern}` is not an RE2 pattern: {message}")]
    Regex {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// An expression is not CEL.
    #[error("this is not a CEL expression: {0}")]
    Cel(String),
    /// A selector is not `JSONPath`.
    #[error("this is not a JSONPath: {0}")]
    JsonPath(String),
    /// A duration is none.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// A condition has an operand of the wrong type.
    #[error(transparent)]
    Operand(#[from] OperandError),
    /// An indicator has no method, or a pattern no condition.
    #[error("{0}")]
    Incomplete(&'static str),
}

impl CompileError {
    /// The path that a text is.
    pub(super) fn path<P>(path: &str, parse: impl FnOnce(&str) -> Result<P, PathError>) -> Result<P, Self> {
        parse(path).map_err(|error| Self::Path { path: path.to_owned(), error })
    }

    /// The pattern that a text is, compiled.
    pub(super) fn regex(pattern: &str) -> Result<Regex, Self> {
        let refused = |error: Re2Error| Self::Regex { pattern: pattern.to_owned(), message: error.message };
        Regex::new(pattern).map_err(refused)
    }
}

impl From<SyntaxError> for CompileError {
    fn from(error: SyntaxError) -> Self {
        Self::Cel(error.message)
    }
}

impl From<JsonPathError> for CompileError {
    fn from(error: JsonPathError) -> Self {
        Self::JsonPath(error.message)
    }
}

impl From<CompileError> for EvaluationError {
    fn from(error: CompileError) -> Self {
        let kind = match &error {
            CompileError::Path { .. } => EvaluationErrorKind::PathResolution,
            CompileError::Cel(_) => EvaluationErrorKind::CelError,
            CompileError::Operand(_) => EvaluationErrorKind::TypeError,
            _ => EvaluationErrorKind::UnsupportedMethod,
        };
        EvaluationError::new(kind, error.to_string())
    }
}

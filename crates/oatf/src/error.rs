//! What may go wrong when a document is loaded, evaluated or played.

use sortie_expr::cel::{CelError, CelErrorKind};
use sortie_syntax::{Diagnostic, ParseError, closed_enum};

/// A document breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} at `{path}`: {message}")]
pub struct ValidationError {
    /// The rule (`V-001`).
    pub rule: &'static str,
    /// The section of the specification that says so.
    pub spec_ref: &'static str,
    /// What happened.
    pub message: String,
    /// Dot-path of the offending field.
    pub path: String,
    /// The same, with spans, labels, help and fixes.
    pub diagnostic: Box<Diagnostic>,
}

/// What `load` may fail with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OatfError {
    /// The text is not a document.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The document breaks a rule.
    #[error(transparent)]
    Validation(#[from] ValidationError),
}

impl OatfError {
    /// The finding behind the error.
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            Self::Parse(error) => &error.diagnostic,
            Self::Validation(error) => &error.diagnostic,
        }
    }
}

closed_enum! {
    /// Why an evaluation gave no answer.
    EvaluationErrorKind {
        /// A path could not be followed.
        PathResolution = "path_resolution",
        /// A pattern took too long.
        RegexTimeout = "regex_timeout",
        /// A CEL expression failed.
        CelError = "cel_error",
        /// A value has the wrong type.
        TypeError = "type_error",
        /// A semantic engine failed.
        SemanticError = "semantic_error",
        /// Something we do not support was asked for.
        UnsupportedMethod = "unsupported_method",
    }
}

/// An evaluation gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct EvaluationError {
    /// Why.
    pub kind: EvaluationErrorKind,
    /// What happened.
    pub message: String,
    /// The indicator at work.
    pub indicator_id: Option<String>,
}

impl EvaluationError {
    /// An error that knows no indicator yet.
    pub fn new(kind: EvaluationErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), indicator_id: None }
    }
}

impl From<CelError> for EvaluationError {
    fn from(error: CelError) -> Self {
        let kind = match error.kind {
            CelErrorKind::Unsupported => EvaluationErrorKind::UnsupportedMethod,
            CelErrorKind::Type => EvaluationErrorKind::TypeError,
            CelErrorKind::Value => EvaluationErrorKind::CelError,
        };
        Self::new(kind, error.message)
    }
}

closed_enum! {
    /// Why nothing was generated.
    GenerationErrorKind {
        /// There is no provider.
        ProviderUnavailable = "provider_unavailable",
        /// The model failed.
        ModelError = "model_error",
        /// What came back does not fit the protocol.
        ValidationFailure = "validation_failure",
        /// It took too long.
        Timeout = "timeout",
        /// The provider refused.
        ContentPolicy = "content_policy",
    }
}

/// A `synthesize` block could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct GenerationError {
    /// Why.
    pub kind: GenerationErrorKind,
    /// What happened.
    pub message: String,
    /// The phase at work.
    pub phase_name: Option<String>,
    /// The first 200 characters of the prompt.
    pub prompt_preview: Option<String>,
}

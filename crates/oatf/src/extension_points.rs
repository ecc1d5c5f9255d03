//! Engines that the format declares and does not bring along.

use serde_json::Value;

use crate::error::{EvaluationError, GenerationError};
use crate::model::{SemanticExamples, SemanticIntentClass};

/// The score from which a semantic indicator matches when it does not say (specification §6.4).
pub const DEFAULT_SEMANTIC_THRESHOLD: f64 = 0.7;

/// Says how much a text has an intent (specification §6.2).
///
/// There is no default: meaning depends on a model, and a model on who runs it.
pub trait SemanticEvaluator {
    /// A score from 0 to 1. The threshold is applied by the caller.
    fn evaluate(
        &self,
        text: &str,
        intent: &str,
        intent_class: Option<SemanticIntentClass>,
        threshold: Option<f64>,
        examples: Option<&SemanticExamples>,
    ) -> Result<f64, EvaluationError>;

    /// What it is, for whoever reads a verdict: the kind of engine, the model, the version. Scores of two engines cannot be
    /// compared.
    fn engine(&self) -> Option<String> {
        None
    }
}

/// Generates the content of a `synthesize` block (specification §6.3).
///
/// There is no default, for the same reason.
pub trait GenerationProvider {
    /// Content that fits the protocol. `prompt` has its templates filled.
    fn generate(
        &self,
        prompt: &str,
        protocol: &str,
        response_context: &Value,
    ) -> Result<Value, GenerationError>;
}

//! Engines that the format declares: one for CEL comes along, the others do not.

use serde_json::{Map, Value};
use sortie_expr::cel::Program;

use crate::error::{EvaluationError, EvaluationErrorKind, GenerationError};
use crate::model::{SemanticExamples, SemanticIntentClass};

/// The score from which a semantic indicator matches when it does not say (specification §6.4).
pub const DEFAULT_SEMANTIC_THRESHOLD: f64 = 0.7;

/// Evaluates CEL expressions (specification §6.1). An implementation has no side effects.
pub trait CelEvaluator {
    /// Evaluates an expression against named variables.
    ///
    /// # Errors
    /// Whatever keeps the expression from having a value.
    fn evaluate(&self, expression: &str, context: &Map<String, Value>) -> Result<Value, EvaluationError>;

    /// Evaluates an expression that is already compiled; a variable that is `None` is null.
    ///
    /// The default implementation copies the variables into a context and passes the source on, so that
    /// an implementation from outside needs only [`CelEvaluator::evaluate`].
    ///
    /// # Errors
    /// As [`CelEvaluator::evaluate`].
    fn evaluate_program(
        &self,
        program: &Program,
        variables: &[(&str, Option<&Value>)],
    ) -> Result<Value, EvaluationError> {
        let context = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.cloned().unwrap_or(Value::Null)))
            .collect();
        self.evaluate(program.source(), &context)
    }
}

/// The evaluator of this crate. A step budget bounds every evaluation.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultCelEvaluator;

impl CelEvaluator for DefaultCelEvaluator {
    fn evaluate(&self, expression: &str, context: &Map<String, Value>) -> Result<Value, EvaluationError> {
        let program = Program::compile(expression)
            .map_err(|error| EvaluationError::new(EvaluationErrorKind::CelError, error.to_string()))?;
        let variables: Vec<_> = context.iter().map(|(name, value)| (name.as_str(), Some(value))).collect();
        Ok(program.evaluate(&variables)?)
    }

    fn evaluate_program(
        &self,
        program: &Program,
        variables: &[(&str, Option<&Value>)],
    ) -> Result<Value, EvaluationError> {
        Ok(program.evaluate(variables)?)
    }
}

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

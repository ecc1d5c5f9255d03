//! The extension point of the SDK specification, §6.1.

use serde_json::{Map, Value};

use super::limits::Clock;
use super::program::Program;
use crate::error::{EvaluationError, EvaluationErrorKind};

/// Evaluates CEL expressions. An implementation has no side effects.
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

/// The evaluator of this crate. A step budget bounds every evaluation; a clock, when one is passed in, puts a
/// [deadline](super::limits::DEADLINE) behind it.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultCelEvaluator {
    clock: Option<Clock>,
}

impl DefaultCelEvaluator {
    /// An evaluator bounded by its step budget alone.
    pub const fn new() -> Self {
        Self { clock: None }
    }

    /// An evaluator with a deadline behind its step budget.
    pub const fn with_clock(clock: Clock) -> Self {
        Self { clock: Some(clock) }
    }
}

impl CelEvaluator for DefaultCelEvaluator {
    fn evaluate(&self, expression: &str, context: &Map<String, Value>) -> Result<Value, EvaluationError> {
        let program = Program::compile(expression)
            .map_err(|error| EvaluationError::new(EvaluationErrorKind::CelError, error.to_string()))?;
        let variables: Vec<_> = context.iter().map(|(name, value)| (name.as_str(), Some(value))).collect();
        program.evaluate_within(&variables, self.clock)
    }

    fn evaluate_program(
        &self,
        program: &Program,
        variables: &[(&str, Option<&Value>)],
    ) -> Result<Value, EvaluationError> {
        program.evaluate_within(variables, self.clock)
    }
}

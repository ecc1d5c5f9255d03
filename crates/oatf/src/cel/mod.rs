//! Stand-in until the evaluator lands.
#![allow(missing_docs)]
use crate::error::{EvaluationError, EvaluationErrorKind};
use serde_json::{Map, Value};
#[derive(Debug)]
pub struct Program(String);
#[derive(Debug)]
pub struct SyntaxError {
    pub message: String,
    pub span: Option<std::ops::Range<usize>>,
    pub help: Option<String>,
}
impl Program {
    pub fn compile(s: &str) -> Result<Self, SyntaxError> {
        cel::Program::compile(s).map(|_| Self(s.into())).map_err(|e| SyntaxError {
            message: e.to_string(),
            span: None,
            help: None,
        })
    }
    pub fn source(&self) -> &str {
        &self.0
    }
}
pub trait CelEvaluator {
    fn evaluate(&self, expression: &str, context: &Map<String, Value>) -> Result<Value, EvaluationError>;
    fn evaluate_program(
        &self,
        program: &Program,
        variables: &[(&str, Option<&Value>)],
    ) -> Result<Value, EvaluationError> {
        let c = variables.iter().map(|(k, v)| ((*k).to_owned(), v.cloned().unwrap_or_default())).collect();
        self.evaluate(program.source(), &c)
    }
}
#[derive(Default, Clone, Copy, Debug)]
pub struct DefaultCelEvaluator;
impl CelEvaluator for DefaultCelEvaluator {
    fn evaluate(&self, _: &str, _: &Map<String, Value>) -> Result<Value, EvaluationError> {
        Err(EvaluationError::new(EvaluationErrorKind::UnsupportedMethod, "stub"))
    }
}

//! The extension point for CEL.

use serde_json::{Map, Value, json};
use sortie_expr::cel::Program;
use sortie_oatf::{CelEvaluator, DefaultCelEvaluator, EvaluationError, EvaluationErrorKind};

/// An implementation that only has what the specification asks for.
struct Foreign;

impl CelEvaluator for Foreign {
    fn evaluate(&self, expression: &str, context: &Map<String, Value>) -> Result<Value, EvaluationError> {
        Ok(json!({"expression": expression, "context": context}))
    }
}

#[test]
fn a_foreign_evaluator_gets_source_and_context() {
    let program = Program::compile("a == b").unwrap();
    let one = json!(1);
    let variables = [("a", Some(&one)), ("b", None)];
    assert_eq!(
        Foreign.evaluate_program(&program, &variables),
        Ok(json!({"expression": "a == b", "context": {"a": 1, "b": null}}))
    );
    let default: &dyn CelEvaluator = &DefaultCelEvaluator;
    assert_eq!(default.evaluate_program(&program, &variables), Ok(json!(false)));
}

#[test]
fn the_default_evaluator_takes_text() {
    let context = json!({"a": [1, 2]});
    let context = context.as_object().unwrap();
    assert_eq!(DefaultCelEvaluator.evaluate("a.size()", context), Ok(json!(2)));
    let error = DefaultCelEvaluator.evaluate("a.", context).unwrap_err();
    assert_eq!(error.kind, EvaluationErrorKind::CelError);
}

//! CEL.

use serde_json::{Map, Value, json};
use sortie_expr::cel::Program;
use sortie_oatf::{CelEvaluator, DefaultCelEvaluator};

use super::line_and_rest;

/// An expression is refused with a place, or gives the same answer whenever and however it is asked, within its
/// budget of steps. The message is the rest, or an ordinary one if that is not JSON.
pub fn cel(data: &[u8]) {
    let Some((source, rest)) = line_and_rest(data) else { return };
    let program = match Program::compile(source) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.message.is_empty());
            let span = error.span.unwrap_or_default();
            return assert!(source.get(span.clone()).is_some(), "`{source}`: {span:?} is not a place in it");
        }
    };
    for access in program.unguarded_fields() {
        assert!(source.get(access.span.clone()).is_some(), "`{source}`: {access:?} is not a place in it");
        assert!(access.path.contains('.'), "{access:?}");
    }
    let message = serde_json::from_str(rest).unwrap_or_else(
        |_| json!({"name": "ab", "n": 3, "d": 1.5, "tools": [{"name": "é"}, {"name": ""}], "nothing": null}),
    );
    let variables = [("message", Some(&message)), ("missing", None)];
    let answer = program.evaluate(&variables);
    assert_eq!(program.evaluate(&variables), answer, "`{source}` changes its mind");
    match program.evaluate_bool(&variables) {
        Ok(truth) => assert_eq!(answer, Ok(Value::Bool(truth)), "`{source}`"),
        Err(_) => assert!(!matches!(answer, Ok(Value::Bool(_))), "`{source}` is {answer:?}, and no boolean"),
    }
    let context =
        Map::from_iter([("message".to_owned(), message.clone()), ("missing".to_owned(), Value::Null)]);
    assert_eq!(
        DefaultCelEvaluator.evaluate(source, &context),
        answer.clone().map_err(Into::into),
        "`{source}` in one shot"
    );
    // The line ends a comment; the parentheses may be one pair too many.
    if let Ok(enclosed) = Program::compile(&format!("({source}\n)")) {
        assert_eq!(enclosed.evaluate(&variables).ok(), answer.ok(), "`{source}` in parentheses");
    }
}

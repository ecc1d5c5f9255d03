//! The corpus of expressions in `tests/cel`, with the answers of another implementation.

use serde_json::{Value, json};
use sortie_expr::cel::{CelErrorKind, Program};

/// Numbers of different kinds are the same answer: the corpus went through JSON.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// What the case says about its message and variables, evaluated as an indicator would be.
fn answer(corpus: &Value, case: &Value) -> Result<Value, Value> {
    let refused = |kind: Value| json!({"error": true, "kind": kind});
    let program =
        Program::compile(case["expression"].as_str().unwrap()).map_err(|_| refused(json!("syntax")))?;
    let message = &corpus["messages"][case["message"].as_str().unwrap()];
    program.evaluate(&[("message", Some(message))]).map_err(|error| match error.kind {
        CelErrorKind::Type => refused(json!("type_error")),
        _ => refused(json!("cel_error")),
    })
}

fn holds(answer: &Result<Value, Value>, expected: &Value) -> bool {
    match answer {
        Ok(value) => same(value, expected),
        Err(error) => {
            expected.get("error").is_some() && expected.get("kind").is_none_or(|kind| error["kind"] == *kind)
        }
    }
}

#[test]
fn every_expression_of_the_corpus_has_its_answer() {
    let corpus: Value = serde_json::from_str(include_str!("../cel/corpus.json")).unwrap();
    let cases = corpus["cases"].as_array().unwrap();
    assert!(cases.len() > 500);
    let wrong: Vec<_> = cases
        .iter()
        .map(|case| (case, answer(&corpus, case)))
        .filter(|(case, answer)| !holds(answer, &case["expected"]))
        .map(|(case, answer)| {
            let (expression, expected) = (&case["expression"], &case["expected"]);
            format!("{expression}\n  expected {expected}\n  got      {answer:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

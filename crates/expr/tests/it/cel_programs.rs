//! What programs report: errors, kinds, unguarded fields.

use serde_json::{Value, json};
use sortie_expr::cel::{CelError, CelErrorKind, Program};

fn evaluate(source: &str) -> Result<Value, CelError> {
    let message = json!({"tools": [{"name": "a"}], "count": 3, "text": "héllo"});
    Program::compile(source).unwrap().evaluate(&[("message", Some(&message)), ("absent", None)])
}

fn unguarded(source: &str) -> Vec<String> {
    let program = Program::compile(source).unwrap();
    let fields = program.unguarded_fields();
    for field in &fields {
        assert!(source.get(field.span.clone()).is_some(), "{field:?}");
    }
    fields.into_iter().map(|field| field.path).collect()
}

#[test]
fn an_error_says_what_and_where() {
    for (source, kind, message) in [
        ("message.nope.x > 0", CelErrorKind::Value, "no field `nope` in `message.nope`"),
        ("message.tools[3]", CelErrorKind::Value, "index out of range in `message.tools[3]`"),
        ("1 / (message.count - 3)", CelErrorKind::Value, "division by zero in `1 / (message.count - 3)`"),
        (
            "message.count + 1.5",
            CelErrorKind::Type,
            "not defined for int and double in `message.count + 1.5`",
        ),
        ("message.text && true", CelErrorKind::Type, "expected a boolean, got string in `message.text`"),
        (
            "message.text.upper()",
            CelErrorKind::Unsupported,
            "the function `upper` is not supported in `message.text.upper()`",
        ),
        (
            "math.abs(1)",
            CelErrorKind::Unsupported,
            "the function `math.abs` is not supported in `math.abs(1)`",
        ),
        (
            "size(1, 2)",
            CelErrorKind::Unsupported,
            "the function `size with 2 arguments` is not supported in `size(1, 2)`",
        ),
        ("a.B{c: 1}", CelErrorKind::Unsupported, "the function `a.B{}` is not supported in `a.B{c: 1}`"),
        ("other == 1", CelErrorKind::Value, "no variable of this name in `other`"),
        ("absent.x", CelErrorKind::Type, "not defined for null_type in `absent.x`"),
        (
            "'a'.matches(message.text + '(')",
            CelErrorKind::Value,
            "the pattern is not RE2 syntax in `'a'.matches(message.text + '(')`",
        ),
        ("0.0 / 0.0", CelErrorKind::Type, "the result (double) has no JSON form in `0.0 / 0.0`"),
    ] {
        let error = evaluate(source).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message), "{source}");
    }
}

#[test]
fn a_missing_variable_is_null() {
    assert_eq!(evaluate("absent == null || absent.contains('x')"), Ok(json!(true)));
    assert_eq!(evaluate("absent"), Ok(Value::Null));
}

#[test]
fn a_boolean_is_not_made_from_anything_else() {
    let program = Program::compile("1").unwrap();
    let error = program.evaluate_bool(&[]).unwrap_err();
    assert_eq!(error.kind, CelErrorKind::Type);
}

#[test]
fn a_syntax_error_points_at_its_bytes() {
    for (source, at, help) in [
        ("message.tools.exists(t, t.name == 'é' &&)", ")", false),
        ("a = b", "=", true),
        ("'é'.matches('(')", "'('", false),
        ("message.in", "in", true),
        ("x.all(1, true)", "1", true),
        ("has(x)", "x", true),
        ("'a\nb'", "'", true),
        ("1 +\n  'é' +\n  €", "€", false),
        ("for", "for", false),
        ("a.?b", "?", true),
        ("99999999999999999999", "99999999999999999999", false),
        ("(1", "", false),
    ] {
        let error = Program::compile(source).unwrap_err();
        let span = error.span.clone().unwrap();
        assert_eq!(&source[span], at, "{source}: {error}");
        assert_eq!(error.help.is_some(), help, "{source}: {error:?}");
    }
}

#[test]
fn unguarded_fields_are_those_that_may_fail() {
    for (source, expected) in [
        ("message.a == 1", vec!["message.a"]),
        ("message.a.b.c == 1", vec!["message.a"]),
        ("has(message.a) && message.a == 1", vec![]),
        ("message.a == 1 && has(message.a)", vec![]),
        ("has(message.a) && message.a.b == 1", vec!["message.a.b"]),
        ("has(message.a.b) && message.a.b == 1", vec!["message.a"]),
        ("has(message.a) && has(message.a.b) && message.a.b == 1", vec![]),
        ("!has(message.a) || message.a == 1", vec![]),
        ("has(message.a) || message.a == 1", vec!["message.a"]),
        ("!(has(message.a) && true) || message.a == 1", vec![]),
        ("has(message.a) ? message.a : message.b", vec!["message.b"]),
        ("!has(message.a) ? 1 : message.a", vec![]),
        ("'a' in message && message.a == 1", vec![]),
        ("'a-b' in message && message['a-b'] == 1", vec![]),
        ("message['a-b'] == 1", vec!["message.a-b"]),
        ("message.tools.exists(t, t.title == 'x')", vec!["message.tools", "message.tools[*].title"]),
        ("has(message.tools) && message.tools.exists(t, has(t.title) && t.title == 'x')", vec![]),
        ("has(message.tools) && message.tools[0].name == 'x'", vec!["message.tools[0].name"]),
        ("has(message.l) && message.l.map(x, has(x.a), x.a) == []", vec![]),
        ("has(message.l) && message.l.filter(x, has(x.a)).exists(y, y.a == 1)", vec![]),
        ("size(message.a) > 1 && message.a.b == 2", vec!["message.a"]),
        ("tools[0].description.contains('x')", vec!["tools[0].description"]),
        (
            "[message.a, {'k': message.b}, -message.c, !message.d]",
            vec!["message.a", "message.b", "message.c", "message.d"],
        ),
        ("message == null", vec![]),
    ] {
        assert_eq!(unguarded(source), expected, "{source}");
    }
}

#[test]
fn a_program_names_what_it_needs() {
    let program =
        Program::compile("type(desc) == string && tools.exists(t, t.name == desc) && desc.quote() == 'x'")
            .unwrap();
    assert_eq!(program.variables(), ["desc", "tools"]);
    assert_eq!(program.unsupported_functions(), ["quote"]);
}

/// The expressions of the corpus are CEL to another parser exactly when they are to ours.
#[test]
fn another_parser_accepts_the_same_corpus() {
    // Refused here on purpose: macro arguments and literal patterns are checked when compiling, and a
    // number out of range in a negated position is read with its sign.
    const STRICTER: [&str; 4] = [
        "[1].all(x, true, true)",
        "message.name.matches('(')",
        "--9223372036854775808",
        "message.arguments{}",
    ];
    let corpus: Value = serde_json::from_str(include_str!("../cel/corpus.json")).unwrap();
    let mut differ = Vec::new();
    for case in corpus["cases"].as_array().unwrap() {
        let source = case["expression"].as_str().unwrap();
        let ours = Program::compile(source).is_ok();
        let theirs = cel::parser::Parser::default().parse(source).is_ok();
        if ours != theirs && !STRICTER.contains(&source) {
            differ.push(format!("{source}: ours {ours}, theirs {theirs}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

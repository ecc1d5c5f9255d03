//! Hostile expressions and messages: refused or answered, never a crash, always bounded.

use proptest::prelude::*;
use serde_json::{Value, json};
use sortie_expr::cel::limits::{MAX_DEPTH, MAX_NESTING, MAX_SOURCE_BYTES};
use sortie_expr::cel::{CelError, CelErrorKind, Program};

fn evaluate(source: &str, message: &Value) -> Result<Value, CelError> {
    Program::compile(source)
        .unwrap_or_else(|error| panic!("{source}: {error}"))
        .evaluate(&[("message", Some(message))])
}

/// Runs on the stack a spawned thread has by default, in a debug build too, where frames are largest.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(test).unwrap().join().unwrap();
}

/// Compiles, evaluates, analyses and drops; says whether it compiled.
fn survives(source: &str) -> bool {
    let message = json!({"a": {"a": 1}});
    let Ok(program) = Program::compile(source) else {
        return false;
    };
    let _ = program.evaluate(&[("message", Some(&message)), ("a", Some(&message))]);
    let _ = program.unguarded_fields();
    true
}

#[test]
fn deep_and_long_expressions_do_not_overflow_the_stack() {
    on_a_small_stack(|| {
        for count in [10, 90, 200, 255, 1_000, 20_000, 60_000] {
            let repeated = |part: &str| part.repeat(count);
            for source in [
                vec!["1"; count].join("+"),
                vec!["a"; count].join("&&"),
                vec!["a"; count].join("||"),
                vec!["a"; count].join("=="),
                vec!["a"; count].join("."),
                vec!["a"; count].join(","),
                format!("a{}", repeated("[0]")),
                format!("a{}", repeated(".f()")),
                format!("a{}", repeated("{}")),
                format!("{}1{}", repeated("("), repeated(")")),
                format!("{}1{}", repeated("["), repeated("]")),
                format!("{}1{}", repeated("{1:"), repeated("}")),
                format!("{}1{}", repeated("f("), repeated(")")),
                format!("{}1{}", repeated("a[1?"), repeated(":1]")),
                format!("{}1{}", repeated("[1].all(x,"), repeated(")")),
                format!("[1]{}", repeated(".map(x,[x,x])")),
                format!("{}1", repeated("a?1:")),
                format!("{}a", repeated("!")),
                format!("{}1", repeated("-")),
                format!("{}a", repeated("!(-")),
                repeated("("),
                repeated("["),
                repeated("{"),
                repeated("a."),
                repeated("]"),
                repeated("'"),
                repeated("//\n"),
            ] {
                survives(&source);
            }
        }
    });
}

#[test]
fn ordinary_depth_is_accepted() {
    on_a_small_stack(|| {
        assert!(survives(&vec!["1"; MAX_DEPTH].join("+")));
        assert!(!survives(&vec!["1"; MAX_DEPTH + 1].join("+")));
        let nested = |levels| format!("{}1{}", "(".repeat(levels), ")".repeat(levels));
        assert!(survives(&nested(MAX_NESTING - 1)));
        assert!(!survives(&nested(MAX_NESTING)));
        assert!(survives(&vec!["true"; 10_000].join("&&")));
    });
}

#[test]
fn a_source_beyond_the_cap_is_refused_and_below_it_located() {
    let long = format!("{}1", " ".repeat(MAX_SOURCE_BYTES));
    assert!(Program::compile(&long).unwrap_err().message.contains("longer"));
    let source = format!("{}\n'é' == €", "é == 1 && ".replace('é', "a").repeat(6_000));
    let error = Program::compile(&source).unwrap_err();
    assert_eq!(&source[error.span.unwrap()], "€");
}

/// Asserts that the step budget ends the evaluation. What that costs is measured by `cargo xtask bench`.
fn assert_budget(source: &str, message: &Value) {
    let program = Program::compile(source).unwrap();
    let error = program.evaluate(&[("message", Some(message))]).unwrap_err();
    assert_eq!(error.kind, CelErrorKind::Value, "{source}: {error}");
    assert!(error.message.contains("step budget"), "{source}: {error}");
}

#[test]
fn nested_comprehensions_run_out_of_steps() {
    let message = json!({"l": (0..60).collect::<Vec<_>>()});
    assert_budget("message.l.all(a, message.l.all(b, message.l.all(c, a + b + c >= 0)))", &message);
    assert_budget(
        "message.l.map(a, message.l.map(b, message.l.map(c, [a, b, c]))).size() > 0 || true",
        &message,
    );
    assert_budget(
        "[1,2,3,4,5,6,7,8].map(a,[1,2,3,4,5,6,7,8].map(b,[1,2,3,4,5,6,7,8].map(c,\
         [1,2,3,4,5,6,7,8].map(d,[1,2,3,4,5,6,7,8].map(e,[1,2,3,4,5,6,7,8].map(f, 1))))))",
        &message,
    );
}

#[test]
fn values_cannot_grow_without_paying() {
    let message = json!({"s": "x".repeat(10_000), "l": (0..1_000).collect::<Vec<_>>()});
    let doubled = |start: &str, step: &str| {
        let mut source = format!("[{start}]");
        for _ in 0..40 {
            source = format!("{source}.map(x, {step})");
        }
        source
    };
    assert_budget(&doubled("'x'", "x + x"), &message);
    assert_budget(&doubled("[1]", "x + x"), &message);
    assert_budget(&doubled("[1]", "[x, x]"), &message);
    assert_budget(&doubled("'x'", "[x, x].join(x)"), &message);
    assert_budget(&doubled("b'x'", "x + x"), &message);
    assert_budget("message.s.replace('x', message.s)", &message);
    assert_budget("message.s.replace('', message.s)", &message);
    assert_budget("message.l.map(x, message.s.split(''))", &message);
    assert_budget("message.l.map(x, message.s.lowerAscii())", &message);
    assert_budget("message.l.map(x, message.l).flatten().distinct()", &message);
    assert_budget("message.l.map(x, message.l).flatten().sort()", &message);
    assert_budget("message.l.all(x, message.s.matches('(x*)*y') || true)", &message);
    assert_budget("message.l.all(x, 'a'.matches('a' + string(x)) || true)", &message);
    assert_budget("message.s.matches('[ab].{900}c.{900}x')", &message);
    assert_budget("message.l.all(x, 'a'.matches('.{900}.{900}' + string(x)) || true)", &message);
    // The tree is exponential, its memory is not: comparing it is what would take forever.
    let tree = doubled("[1]", "[x, x]");
    assert_budget(&format!("{tree} == {tree}"), &message);
}

#[test]
fn long_keys_needles_and_literals_are_paid_for_each_time() {
    let message = json!({"s": "x".repeat(1 << 20), "l": (0..5_000).collect::<Vec<_>>(), "o": {"a": 1}});
    let long = "y".repeat(60_000);
    for repeated in [
        "!(message.s in message.o)",
        "message.o[message.s] == 1 || true",
        "{message.s: 1}[message.s] == 1",
        "'a'.indexOf(message.s) == -1",
        "'a'.lastIndexOf(message.s) == -1",
        "'a'.split(message.s) != []",
        "'a'.replace(message.s, '') == 'a'",
        "message.s.trim() != ''",
        &format!("!has(message.{long})"),
        &format!("message.{long} == 1 || true"),
    ] {
        assert_budget(&format!("message.l.all(x, {repeated})"), &message);
    }
    // Too long to be what they should be, so never read.
    for refused in [
        "timestamp(message.s) == 1",
        "duration(message.s) == 1",
        "timestamp(0).getHours(message.s) == 1",
        "int(message.s) == 1",
        "double(message.s) == 1.0",
        "bool(message.s)",
    ] {
        let source = format!("message.l.all(x, {refused} || true)");
        assert_eq!(evaluate(&source, &message), Ok(json!(true)), "{source}");
    }
    // A literal is never copied, so it is free; what is made from it is not.
    assert_budget(&format!("message.l.map(x, b'{long}' + b'')"), &message);
    let free = format!("message.l.map(x, b'{long}').size()");
    assert_eq!(evaluate(&free, &message), Ok(json!(5_000)));
}

#[test]
fn an_exhausted_budget_is_never_absorbed() {
    let message = json!({"l": (0..600).collect::<Vec<_>>()});
    let expensive = "message.l.all(a, message.l.all(b, a + b >= 0))";
    assert_budget(&format!("{expensive} || true"), &message);
    assert_budget(&format!("{expensive} && false"), &message);
    assert_budget(&format!("[1, 2].exists(x, x == 2 || {expensive})"), &message);
}

#[test]
fn patterns_cannot_be_many_and_large() {
    let source = ["'a'.matches('.{900}.{900}')"; 1_000].join(" || ");
    let error = Program::compile(&source).unwrap_err();
    assert_eq!(error.message, "the patterns of the expression are too large together");
    assert!(Program::compile(&["'a'.matches('(?i)ignore.*previous')"; 100].join(" || ")).is_ok());
}

#[test]
fn large_honest_messages_are_within_the_budget() {
    let tools: Vec<_> =
        (0..1_000).map(|n| json!({"name": format!("tool_{n}"), "description": "d".repeat(500)})).collect();
    let message = json!({"tools": tools, "text": "x".repeat(1 << 20)});
    for (source, expected) in [
        ("message.tools.exists(t, has(t.description) && t.description.contains('IMPORTANT'))", false),
        ("message.tools.all(t, size(t.description) == 500 && t.name.startsWith('tool_'))", true),
        ("message.tools.exists(t, t.description.matches('(?i)important|ignore'))", false),
        ("size(message.text) > 100000 && !message.text.lowerAscii().contains('y')", true),
        ("message.text.matches('y$')", false),
    ] {
        assert_eq!(evaluate(source, &message), Ok(json!(expected)), "{source}");
    }
}

#[test]
fn values_nested_beyond_reason_are_an_error() {
    on_a_small_stack(|| {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let message = json!({"deep": nested(200), "fine": nested(120)});
        // The comparison stands as deep in the expression as anything can.
        let source = |field: &str| {
            let calls = "(!".repeat(60);
            format!("{calls}({field} == {field} || true){}", ")".repeat(60))
        };
        let error = evaluate(&source("message.deep"), &message).unwrap_err();
        assert!(error.message.contains("nested too deeply"), "{error}");
        assert_eq!(evaluate(&source("message.fine"), &message), Ok(json!(true)));
        assert!(evaluate("message.deep", &message).is_err());
        let chain = format!("message.fine == message.fine{}", " == true".repeat(250));
        assert_eq!(evaluate(&chain, &message), Ok(json!(true)));
    });
}

#[test]
fn the_verdict_of_the_budget_is_the_same_every_time() {
    let message = json!({"l": (0..300).collect::<Vec<_>>(), "p": ["a", "b", "c", "d"]});
    // Just under and just over the budget; the second run finds the patterns cached.
    for count in 1..20 {
        let inner = vec!["a + b >= 0"; count].join(" && ");
        let source = format!(
            "message.p.exists(p, 'abc'.matches(p)) && message.l.all(a, message.p.all(x, [1, 2].all(b, {inner})))"
        );
        let program = Program::compile(&source).unwrap();
        let run = || program.evaluate_bool(&[("message", Some(&message))]);
        assert_eq!(run(), run());
    }
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let program = Program::compile("message.p.matches(message.p)").unwrap();
    shared(&program);
    std::thread::scope(|scope| {
        for text in ["a", "b", "c"] {
            let program = &program;
            scope.spawn(move || {
                for round in 0..50 {
                    let message = json!({"p": format!("{text}{round}")});
                    assert_eq!(program.evaluate_bool(&[("message", Some(&message))]), Ok(true));
                }
            });
        }
    });
}

/// Pieces of the language, thrown together.
fn fragments() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "message",
        "a",
        "x",
        "1",
        "-1",
        "2u",
        "0.5",
        "'é'",
        "b'x'",
        "null",
        "true",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        ":",
        "?",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        ">=",
        "in",
        "&&",
        "||",
        ".all(x,",
        ".exists(x,",
        ".map(x,",
        ".filter(x,",
        "has(",
        "size(",
        ".matches(",
        ".split(",
        ".replace('a',",
        ".substring(",
        "[0]",
        "string(",
        "int(",
        "timestamp(",
        "duration(",
        "type(",
        " ",
        "\n",
        "'",
        "\"\"\"",
        "\\",
        "€",
        "//",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_compiles_or_is_refused_within_its_bounds(source in prop_oneof![fragments(), any::<String>()]) {
        match Program::compile(&source) {
            Ok(_) => { survives(&source); }
            Err(error) => {
                let span = error.span.unwrap();
                prop_assert!(source.get(span).is_some(), "{source:?}");
            }
        }
    }

    #[test]
    fn numbers_order_as_their_decimal_expansion_does(left in any::<i64>(), right in any::<i64>()) {
        #[allow(clippy::cast_precision_loss)]
        let double = right as f64;
        // Every double of this size is a whole number, exact in i128.
        #[allow(clippy::cast_possible_truncation)]
        let exact = double as i128;
        let message = json!({"left": left, "right": double});
        let less = evaluate("message.left < message.right", &message).unwrap();
        prop_assert_eq!(less, json!(i128::from(left) < exact));
    }
}

#[test]
fn the_longest_source_compiles() {
    let source = vec!["a"; MAX_SOURCE_BYTES / 3].join("&&");
    assert!(Program::compile(&source).is_ok());
}

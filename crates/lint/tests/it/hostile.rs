//! Hostile documents and messages: each is refused or answered, on a stack of one megabyte. What it costs is
//! measured by `cargo xtask bench`.

// Texts are put together here once, not in a loop that matters.
#![allow(clippy::format_collect)]

use serde_json::{Value, json};
use sortie_lint::analyze;
use sortie_oatf::model::{ExpressionMatch, Indicator};
use sortie_oatf::{Analysis, CompiledIndicator, Evaluators, IndicatorOutcome, load};
use sortie_syntax::MAX_FINDINGS;

/// Runs on a thread with little stack, so that recursion without a bound shows.
fn with_little_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap()
}

fn codes(analysis: &Analysis) -> Vec<&'static str> {
    let mut codes: Vec<_> = analysis.diagnostics.iter().map(|finding| finding.code).collect();
    codes.dedup();
    codes
}

/// A document with `state` and `indicators` put in as text.
fn document(state: &str, indicators: &str) -> String {
    format!(
        "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    state: {state}\n  indicators: {indicators}\n"
    )
}

fn indicator(method: &str) -> String {
    document("{tools: []}", &format!("[{{surface: tools/call, target: \"\", {method}}}]"))
}

#[track_caller]
fn refused(text: String, code: &str) {
    let analysis = with_little_stack(move || analyze(&text));
    assert!(!analysis.is_valid());
    assert!(codes(&analysis).contains(&code), "{:?}", codes(&analysis));
}

#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    refused(document(&format!("{}{}", "[".repeat(deep), "]".repeat(deep)), "[]"), "P-011");
    refused(document(&format!("{}{}", "{a: ".repeat(deep), "}".repeat(deep)), "[]"), "P-011");
    refused(format!("{}{}", "[".repeat(deep), "]".repeat(deep)), "P-011");
    refused(format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep)), "P-011");
    let block: String = (0..1_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    refused(block, "P-011");
    refused("- ".repeat(deep), "P-011");
}

#[test]
fn what_is_too_large_is_refused_and_what_is_large_is_answered() {
    refused(document(&format!("{{tools: \"{}\"}}", "x".repeat(10_000_000)), "[]"), "P-011");
    let keys = |count| (0..count).map(|key| format!("k{key}: 1, ")).collect::<String>();
    refused(document(&format!("{{{}}}", keys(100_000)), "[]"), "P-011");
    refused(document(&format!("{{{}}}", keys(40_000)), "[]"), "V-006");
    let phase = "      - {state: {tools: []}, trigger: {event: tools/call}}\n";
    let text = format!(
        "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    phases:\n{}      - {{}}\n",
        phase.repeat(10_000)
    );
    let loaded = with_little_stack(move || load(&text).map(|loaded| loaded.document.into_inner()));
    let document = loaded.unwrap();
    assert_eq!(document.attack.execution.actors.as_ref().unwrap()[0].phases.len(), 10_001);
}

#[test]
fn a_flood_of_mistakes_is_cut_and_says_so() {
    let floods = [
        document(&format!("{{{}}}", "a: 1, ".repeat(20_000)), "[]"),
        format!(
            "oatf: \"0.1\"\nattack:\n{}",
            (0..40_000).map(|n| format!("  idd{n}: 1\n")).collect::<String>()
        ),
        indicator(&format!(
            "expression: {{cel: \"true\", variables: {{{}}}}}",
            (0..40_000).map(|n| format!("a-{n}: b, ")).collect::<String>()
        )),
        document(&format!("{{tools: [{}]}}", "\"{{nobody}}\", ".repeat(60_000)), "[]"),
        document(&format!("{{tools: \"{}\"}}", "{{nobody.here}} ".repeat(100_000)), "[]"),
        crowd(4_000),
        // Few enough to be linted.
        crowd(200),
    ];
    for text in floods {
        let analysis = with_little_stack(move || analyze(&text));
        assert!(!analysis.is_valid());
        assert!(analysis.diagnostics.len() <= 2 * MAX_FINDINGS, "{}", analysis.diagnostics.len());
        let says_so = |help: &String| help.contains("left out");
        assert!(analysis.diagnostics.iter().any(|finding| finding.help.iter().any(says_so)));
    }
}

/// Actors, and as many indicators that name others.
fn crowd(count: usize) -> String {
    let actors: String = (0..count)
        .map(|n| format!("      - {{name: a{n}, mode: mcp_server, phases: [{{state: {{tools: []}}}}]}}\n"))
        .collect();
    let indicators: String = (0..count)
        .map(|n| format!("    - {{actor: b{n}, protocol: mcpp, target: a, pattern: {{}}}}\n"))
        .collect();
    format!("oatf: \"0.1\"\nattack:\n  execution:\n    actors:\n{actors}  indicators:\n{indicators}")
}

#[test]
fn a_document_that_nobody_wrote_is_not_linted() {
    // A tool without a schema is a finding.
    let tools = |count| "{name: a}, ".repeat(count);
    let lints = |count: usize| {
        let text =
            document(&format!("{{tools: [{}]}}", tools(count)), "[{target: a, pattern: {contains: a}}]");
        let analysis = with_little_stack(move || analyze(&text));
        assert!(analysis.is_valid());
        analysis.diagnostics.iter().filter(|finding| finding.code.starts_with("L-")).count()
    };
    assert!(lints(100) > 0);
    assert_eq!(lints(2_000), 0);
}

fn indicators(count: usize, method: impl Fn(usize) -> String) -> String {
    let each = |n| format!("{{surface: tools/call, target: \"\", {}}}, ", method(n));
    document("{tools: []}", &format!("[{}]", (0..count).map(each).collect::<String>()))
}

#[test]
fn patterns_that_are_too_many_together_are_refused() {
    let small = |n| format!("pattern: {{regex: \"a+b{n}\"}}");
    refused(indicators(500, small), "V-013");
    refused(indicators(4, |n| format!("pattern: {{regex: \"{n}.{{1,950}}.{{1,950}}\"}}")), "V-013");
    assert!(load(&indicators(200, small)).is_ok());
    refused(indicators(500, |n| format!("expression: {{cel: \"message.a.matches('a+b{n}')\"}}")), "V-014");
    refused(indicators(10, |_| format!("expression: {{cel: \"{}true\"}}", "a||".repeat(12_000))), "V-014");
    assert!(
        load(&indicators(200, |n| format!("expression: {{cel: \"message.a.matches('a+b{n}')\"}}"))).is_ok()
    );
}

#[test]
fn the_dearest_pattern_is_not_tried_out_on_the_payload() {
    let payload = "a".repeat(100_000);
    let text = document(
        &format!("{{tools: [{{name: {payload}, inputSchema: {{}}}}]}}"),
        &format!("[{{target: \"tools[*].name\", pattern: {{regex: \"{}x\"}}}}]", "a{0,1000}".repeat(8)),
    );
    // Ten seconds, if it were.
    assert!(with_little_stack(move || analyze(&text)).is_valid());
}

#[test]
fn explosive_patterns_are_refused() {
    for pattern in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(?:(?:(?:a{500}){500}){500})",
        "[\\\\p{L}\\\\p{N}]{1000}",
    ] {
        refused(indicator(&format!("pattern: {{regex: \"{pattern}\"}}")), "V-013");
    }
    refused(indicator(&format!("pattern: {{regex: \"{}\"}}", "(".repeat(100_000))), "V-013");
}

#[test]
fn long_and_deep_cel_is_refused_or_answered() {
    refused(indicator(&format!("expression: {{cel: \"{}1 == 1\"}}", "1+".repeat(20_000))), "V-014");
    refused(
        indicator(&format!("expression: {{cel: \"{}true{}\"}}", "(".repeat(5_000), ")".repeat(5_000))),
        "V-014",
    );
    // A mistake past column 65,535.
    refused(indicator(&format!("expression: {{cel: \"'{}' == \"}}", "x".repeat(70_000))), "V-014");
    refused(
        indicator(&format!("expression: {{cel: \"{}'{}' == \"}}", " ".repeat(100), "x".repeat(65_000))),
        "V-014",
    );
}

#[test]
fn nested_comprehensions_end_in_an_error() {
    let expression = ExpressionMatch {
        cel: "message.l.all(a, message.l.all(b, message.l.all(c, a + b + c >= 0)))".into(),
        variables: None,
    };
    let indicator = Indicator { expression: Some(expression), ..Indicator::default() };
    let message = json!({"l": (0..60).collect::<Vec<_>>()});
    let compiled = CompiledIndicator::new(&indicator).unwrap();
    let outcome = with_little_stack(move || compiled.evaluate(&message, Evaluators::standard()));
    assert!(matches!(outcome, IndicatorOutcome::Error(_)), "{outcome:?}");
}

#[test]
fn many_large_patterns_are_refused_before_they_are_compiled() {
    let several = |count: usize, method: &str| {
        let indicators =
            (0..count).map(|n| format!("{{target: \"\", {}}}", method.replace("NUMBER", &n.to_string())));
        document("{tools: []}", &format!("[{}]", indicators.collect::<Vec<_>>().join(", ")))
    };
    let many = |method: &str| several(2_000, method);
    refused(many("pattern: {regex: '.{900}.{900}NUMBER'}"), "V-013");
    refused(many("expression: {cel: \"message.name.matches('.{900}.{900}NUMBER')\"}"), "V-014");
    // As docs/limits.md says: some three hundred small ones are the limit.
    let ordinary = several(200, "pattern: {regex: '(?i)ignore (all )?previous.*NUMBER'}");
    assert!(load(&ordinary).is_ok());
}

#[test]
fn a_long_payload_is_not_searched_with_a_large_pattern() {
    let matching = |pattern: &str| {
        let state = format!("{{tools: [{{name: a, description: {}}}]}}", "a".repeat(100_000));
        let indicator = format!(
            "[{{surface: tools/list, target: 'tools[*].description', pattern: {{regex: '{pattern}'}}}}]"
        );
        codes(&analyze(&document(&state, &indicator)))
    };
    assert!(matching("a{9}").contains(&"L-002"));
    assert!(!matching("[ab].{900}a.{900}").contains(&"L-002"), "this would take seconds");
}

#[test]
fn nested_jsonpath_is_refused() {
    let selector = format!("$[?{}@.a{}]", "(".repeat(5_000), ")".repeat(5_000));
    let text = format!(
        "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    phases:\n      - state: {{tools: []}}\n        extractors:\n          - {{name: x, source: request, type: json_path, selector: \"{selector}\"}}\n"
    );
    refused(text, "V-015");
}

#[test]
fn a_message_as_deep_as_readers_allow_is_evaluated() {
    let mut deep = json!("needle");
    for _ in 0..126 {
        deep = json!([deep]);
    }
    let indicator = Indicator {
        pattern: Some(sortie_oatf::model::PatternMatch {
            condition: Some(
                sortie_oatf::model::Condition::from_value(&json!({"contains": "needle"})).unwrap(),
            ),
            ..Default::default()
        }),
        ..Indicator::default()
    };
    let compiled = CompiledIndicator::new(&indicator).unwrap();
    let outcome = with_little_stack(move || compiled.evaluate(&deep, Evaluators::standard()));
    assert!(matches!(outcome, IndicatorOutcome::Matched(_)), "{outcome:?}");
    assert!(serde_json::from_str::<Value>(&"[".repeat(200)).is_err());
}

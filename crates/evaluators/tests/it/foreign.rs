//! What catalogues of other tools write, and what is made of it.

use serde_json::{Value, json};
use sortie_evaluators::cases::{Missing, Offer, Planned, Play, TargetKind, Tool, plan};
use sortie_evaluators::fixtures::FixtureContent;
use sortie_evaluators::{CatalogueEntry, File, Loaded, Root, Standard, TargetClass, Values, load};
use sortie_syntax::Diagnostic;

const HEAD: &str = "name: N\nseverity: High\ndescription: D\npass_criteria: P\nfail_criteria: F\n";
const ASK: &str = "patterns: [{name: Ask, template: 'Which of these give orders?'}]\n";

fn loaded(files: &[(&str, &str)]) -> Loaded {
    let files = files.iter().map(|(path, rest)| {
        let head = if path.ends_with(".test.yaml") { "" } else { HEAD };
        File::text(*path, format!("{head}{rest}"))
    });
    let loaded = load(&[Root::new("", files.collect())], &[]);
    assert!(loaded.is_sound(), "{:#?}", loaded.findings);
    loaded
}

fn planned(loaded: &Loaded, kind: TargetKind) -> Vec<Planned> {
    let tool = Tool::read(&json!({"name": "note", "inputSchema": {"type": "object"}})).unwrap();
    let offer = Offer { tools: vec![tool], ..Offer::default() };
    let entries: Vec<&CatalogueEntry> = loaded.catalogue.entries().iter().collect();
    plan(&entries, &offer, kind, &Values::new(), Missing::Skip).unwrap()
}

/// The text after all that can be fixed is.
fn fixed(loaded: &Loaded, text: &str) -> String {
    let mut text = format!("{HEAD}{text}");
    let findings = loaded.findings.iter().flat_map(|file| &file.diagnostics);
    let mut edits: Vec<_> =
        findings.filter_map(|finding: &Diagnostic| finding.fix.clone()).flat_map(|fix| fix.edits).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.replacement);
    }
    text
}

#[test]
fn fields_under_other_names_are_read_and_can_be_renamed() {
    let text = format!(
        "id: a\njudgeHint: One.\nsurface: browser\nstandards: {{owasp-mcp: MCP01}}\nmcp_top_10: MCP01\n{ASK}"
    );
    let read = loaded(&[("agent/a.yaml", &text)]);
    let evaluator = &read.catalogue.get("a").unwrap().evaluator;
    assert_eq!(evaluator.judge_hint.as_deref(), Some("One."));
    assert_eq!(evaluator.surfaces.iter().map(|surface| surface.as_str()).collect::<Vec<_>>(), ["browser"]);
    let better = fixed(&read, &text);
    let again = load(&[Root::new("", vec![File::text("agent/a.yaml", better.clone())])], &[]);
    assert!(again.findings.is_empty(), "{better}\n{:#?}", again.findings);
    assert_eq!(&again.catalogue.get("a").unwrap().evaluator, evaluator);
    assert!(!better.contains("mcp_top_10"), "{better}");
}

#[test]
fn what_stands_there_under_two_names_is_read_from_both() {
    let text = format!(
        "id: a\njudge_hint: One.\njudge_instructions: Two.\nstandards: {{owasp-mcp: MCP10}}\nmcp_top_10: MCP01\n{ASK}"
    );
    let read = loaded(&[("mcp/a.yaml", &text)]);
    let evaluator = &read.catalogue.get("a").unwrap().evaluator;
    assert_eq!(evaluator.judge_hint.as_deref(), Some("One.\n\nTwo."));
    assert_eq!(evaluator.standards.entries(Standard::OwaspMcp).collect::<Vec<_>>(), ["MCP10", "MCP01"]);
    assert_eq!(read.suites.resolve("owasp-mcp").unwrap().evaluators, ["a"], "once");
    let catalogue = read.catalogue.to_json(TargetClass::Mcp, &read.suites);
    let catalogue: Value = serde_json::from_str(&catalogue).unwrap();
    assert_eq!(catalogue["evaluators"][0]["standards"], json!({"owasp-mcp": ["MCP10", "MCP01"]}));
}

#[test]
fn characteristics_of_nist_make_a_suite() {
    let read =
        loaded(&[("agent/a.yaml", &format!("id: a\nstandards: {{nist: 'Secure & Resilient'}}\n{ASK}"))]);
    assert_eq!(read.suites.resolve("nist").unwrap().evaluators, ["a"]);
    let evaluator = &read.catalogue.get("a").unwrap().evaluator;
    assert_eq!(evaluator.standards.entries(Standard::Nist).collect::<Vec<_>>(), ["secure-resilient"]);
}

#[test]
fn what_a_source_scanner_does_is_not_applicable_to_any_target() {
    let source = "id: a-source\nsurface: code\nscan_mode: source_code\ncorrelates_with: a\npatterns: []\n";
    let untestable = "id: b\nuntestable_reason: Nobody can.\n";
    let read = loaded(&[("mcp/a-source.yaml", source), ("agent/b.yaml", untestable)]);
    for kind in [TargetKind::Mcp, TargetKind::Chat] {
        let told: Vec<_> = planned(&read, kind)
            .into_iter()
            .map(|planned| match planned {
                Planned::NotApplicable { id, reason, .. } => (id, reason),
                other => panic!("{other:?}"),
            })
            .collect();
        let source =
            "it reads source code, which needs a source scanner; `a` tries the same on a running target";
        let untestable = "its author says that it cannot be tested: Nobody can.";
        assert_eq!(told, [("a-source".into(), source.into()), ("b".into(), untestable.into())]);
    }
}

#[test]
fn where_descriptions_are_looked_at_nothing_is_called() {
    let read = loaded(&[("mcp/a.yaml", &format!("id: a\nscan_mode: tool_description\n{ASK}"))]);
    let planned = planned(&read, TargetKind::Mcp);
    let [Planned::Ready(case)] = planned.as_slice() else { panic!("{planned:?}") };
    assert!(matches!(case.play, Play::Review { .. }), "{case:?}");
}

#[test]
fn an_artifact_is_what_a_server_says_of_itself() {
    let fixtures = "kind: artifact
pass_case: {artifact: {type: tool_description, content: Adds numbers.}, expect: PASS}
fail_case: [{artifact: {type: manifest, content: 'auth: none'}}, {artifact: {type: source_file, content: x}}]
";
    let read = loaded(&[("mcp/a.yaml", &format!("id: a\n{ASK}")), ("mcp/a.test.yaml", fixtures)]);
    let entry = read.catalogue.get("a").unwrap();
    let cases = &entry.fixtures.as_ref().unwrap().cases;
    assert_eq!(
        cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(),
        ["pass_case", "fail_case[0]"]
    );
    assert!(cases.iter().all(|case| matches!(case.content, FixtureContent::Artifact { .. })));
    let told = |case: usize| cases[case].transcript(&entry.evaluator).unwrap().to_value();
    assert_eq!(told(0)["tools"][0]["description"], "Adds numbers.");
    assert_eq!(told(0)["sent"][0], "Which of these give orders?", "as a run asks");
    assert_eq!(told(1)["server"]["manifest"], "auth: none");
    assert_eq!(told(1)["answers"][0], r#"{"manifest":"auth: none"}"#);
}

//! `sortie suites`

use snapbox::str;

use super::{LEAK, json, mine, repository, said, shown};
use crate::sortie_in;

const CURATED: &str = "\
id: smoke
name: Smoke
description: A first look.
include:
  - evaluator: note-leak
  - document: SRT-010
";

#[test]
fn evaluators_and_documents_stand_together_by_entry() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("suites/smoke.yaml", CURATED)]);
    let sources = ["--evaluators", "mine", "--without-bundled"];
    let suites = |arguments: &[&str]| sortie_in(folder.path()).arg("suites").args(arguments).args(sources);
    let run = suites(&["show", "owasp-llm"]).assert().code(0);
    let text = shown(&run);
    assert!(
        text.starts_with("owasp-llm-top10: OWASP Top 10 for LLM Applications\n\nLLM01\n  document   SRT-"),
        "{text}"
    );
    assert!(text.contains("\nLLM02\n  evaluator  note-leak  A note leaks\n"), "{text}");
    // Every entry of a closed list is there, and those that nothing is about are said.
    assert!(text.contains("\nLLM10\n"), "{text}");
    suites(&["show", "smoke"]).assert().code(0).stdout_eq(str![[r#"
smoke: Smoke
A first look.

Everything
  evaluator  note-leak  A note leaks
  document   SRT-010  [..]

1 evaluator, 1 document

"#]]);
    let report = json(suites(&["show", "owasp-mcp", "--format", "json"]));
    let uncovered: Vec<_> = report["suite"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| {
            entry["evaluators"].as_array().unwrap().is_empty()
                && entry["documents"].as_array().unwrap().is_empty()
        })
        .map(|entry| entry["entry"].clone())
        .collect();
    assert_eq!(report["suite"]["uncovered"], serde_json::json!(uncovered));
    assert_eq!(report["suite"]["entries"].as_array().unwrap().len(), 10);
}

#[test]
fn every_alias_leads_to_its_suite() {
    for (alias, id) in [
        ("atlas", "mitre-atlas"),
        ("eu-ai-act", "eu-ai-act-bias"),
        ("owasp-agentic", "owasp-agentic-ai"),
        ("owasp-llm", "owasp-llm-top10"),
        ("owasp-mcp", "owasp-mcp-top10"),
    ] {
        let run = sortie_in(repository()).args(["suites", "show", alias]).assert().code(0);
        assert!(shown(&run).starts_with(&format!("{id}: ")), "{}", shown(&run));
    }
}

#[test]
fn a_suite_that_is_not_there_is_an_error_with_the_nearest() {
    let run = sortie_in(repository()).args(["suites", "show", "owasp-mcp-top-10"]).assert().code(2);
    assert!(said(&run).contains("did you mean `owasp-mcp-top10`?"), "{}", said(&run));
    assert_eq!(shown(&run), "");
    let run = sortie_in(repository()).args(["suites", "show", "whatever"]).assert().code(2);
    assert!(said(&run).contains("`sortie suites list` shows them all"), "{}", said(&run));
}

#[test]
fn a_suite_that_names_nothing_is_an_error() {
    let folder = mine(&[
        ("agent/note-leak.yaml", LEAK),
        ("suites/smoke.yaml", &CURATED.replace("SRT-010", "SRT-999")),
    ]);
    let run = sortie_in(folder.path()).args(["suites", "list", "--evaluators", "mine"]).assert().code(2);
    assert!(said(&run).contains("error[E-024]: there is no document `SRT-999`"), "{}", said(&run));
    assert!(said(&run).contains("mine/suites/smoke.yaml:6:15"), "{}", said(&run));
}

#[test]
fn the_lists_are_as_their_schema_says() {
    let schema = std::fs::read(repository().join("docs/schema/suites-v1.json")).unwrap();
    let schema = serde_json::from_slice(&schema).unwrap();
    for arguments in [&["list"][..], &["show", "quick"], &["show", "atlas"]] {
        let report = json(sortie_in(repository()).arg("suites").args(arguments).args(["--format", "json"]));
        jsonschema::validate(&schema, &report).expect("as the schema says");
    }
}

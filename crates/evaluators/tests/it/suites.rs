//! Suites: those that follow from standards, and those that somebody wrote.

use sortie_evaluators::suites::{ALIASES, SuiteOrigin};
use sortie_evaluators::{DocumentEntry, File, Loaded, Root, Standard, load};

fn evaluator(path: &str, id: &str, more: &str) -> File {
    let text = format!(
        "id: {id}\nname: N\nseverity: low\ndescription: d\npass_criteria: p\nfail_criteria: f\n{more}\
         patterns: [{{name: n, template: t}}]\n"
    );
    File::text(path, text)
}

fn document(id: &str, framework: &str, entry: &str, tags: &[&str]) -> DocumentEntry {
    DocumentEntry {
        id: id.to_owned(),
        mappings: vec![(framework.to_owned(), entry.to_owned())],
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
    }
}

fn loaded(suites: &[(&str, &str)]) -> Loaded {
    let mut files = vec![
        evaluator("agent/secrets/leak.yaml", "leak", "standards: {owasp-llm: LLM07, atlas: AML.T0056}\n"),
        evaluator(
            "mcp/escape.yaml",
            "escape",
            "standards: {owasp-mcp: MCP5, owasp-api: API1}\ntags: [files]\n",
        ),
    ];
    for (id, include) in suites {
        files
            .push(File::text(format!("suites/{id}.yaml"), format!("id: {id}\nname: N\ninclude:\n{include}")));
    }
    let documents = [
        document("ACME-001", "owasp_mcp", "MCP-03", &["files"]),
        document("ACME-002", "mitre_atlas", "aml.t0051", &[]),
        document("ACME-003", "owasp_mcp", "MCP-33", &[]),
        document("ACME-004", "house_rules", "7", &["house"]),
    ];
    load(&[Root::new("", files)], &documents)
}

fn members(loaded: &Loaded, suite: &str) -> (Vec<String>, Vec<String>) {
    let suite = loaded.suites.resolve(suite).unwrap();
    (suite.evaluators.clone(), suite.documents.clone())
}

fn named(evaluators: &[&str], documents: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    (owned(evaluators), owned(documents))
}

#[test]
fn a_standard_puts_evaluators_and_documents_into_one_suite() {
    let loaded = loaded(&[]);
    assert_eq!(
        members(&loaded, "owasp-mcp-top10"),
        named(&["escape"], &["ACME-001"]),
        "MCP33 is not an entry"
    );
    assert_eq!(members(&loaded, "mitre-atlas"), named(&["leak"], &["ACME-002"]));
    assert_eq!(members(&loaded, "owasp-llm-top10"), named(&["leak"], &[]));
    assert_eq!(members(&loaded, "eu-ai-act-bias"), named(&[], &[]), "there, and empty");
    assert_eq!(loaded.suites.of_evaluator("leak").collect::<Vec<_>>(), ["mitre-atlas", "owasp-llm-top10"]);
    assert_eq!(loaded.suites.iter().count(), 6, "APIs, and trust and safety, have none");
}

#[test]
fn somebody_may_write_suites_of_everything() {
    let loaded = loaded(&[
        ("gate", "  - evaluator: leak\n  - document: ACME-004\n"),
        ("nightly", "  - suite: gate\n  - suite: owasp-mcp\n  - tag: files\n"),
        ("secret", "  - tag: secrets\n"),
        ("house", "  - tag: house\n"),
    ]);
    assert!(loaded.is_sound(), "{:#?}", loaded.findings);
    assert_eq!(members(&loaded, "gate"), named(&["leak"], &["ACME-004"]));
    assert_eq!(members(&loaded, "nightly"), named(&["escape", "leak"], &["ACME-001", "ACME-004"]));
    assert_eq!(members(&loaded, "secret"), named(&["leak"], &[]), "a folder is a tag");
    assert_eq!(members(&loaded, "house"), named(&[], &["ACME-004"]));
    assert_eq!(
        loaded.suites.resolve("gate").unwrap().origin,
        SuiteOrigin::File("suites/gate.yaml".to_owned())
    );
}

#[test]
fn an_alias_means_its_suite_and_an_unknown_name_gives_the_nearest() {
    let loaded = loaded(&[]);
    for (alias, id) in ALIASES {
        assert_eq!(loaded.suites.resolve(alias).unwrap().id, *id);
        assert!(Standard::ALL.iter().any(|standard| standard.suite() == Some(id)));
    }
    let unknown = loaded.suites.resolve("owasp-lm-top10").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no suite `owasp-lm-top10`");
    assert_eq!(unknown.nearest.as_deref(), Some("owasp-llm-top10"));
    assert_eq!(loaded.suites.resolve("everything").unwrap_err().nearest, None);
    assert_eq!(loaded.catalogue.find("leek").unwrap_err().nearest.as_deref(), Some("leak"));
}

#[test]
fn a_suite_with_a_fault_is_not_there_at_all() {
    let loaded = loaded(&[
        ("gate", "  - evaluator: leak\n  - evaluator: gone\n"),
        ("nightly", "  - suite: gate\n"),
        ("round", "  - suite: round\n  - evaluator: leak\n"),
    ]);
    assert!(!loaded.is_sound());
    for id in ["gate", "nightly", "round"] {
        assert!(loaded.suites.resolve(id).is_err(), "{id} would be smaller than it says");
    }
}

#[test]
fn what_is_nearest_is_found_among_thousands() {
    let files =
        (0..2_000).map(|index| evaluator(&format!("agent/e-{index}.yaml"), &format!("e-{index}"), ""));
    let last = evaluator("agent/zebra-crossing.yaml", "zebra-crossing", "");
    let loaded = load(&[Root::new("", files.chain([last]).collect())], &[]);
    assert_eq!(
        loaded.catalogue.find("zebra-crosing").unwrap_err().nearest.as_deref(),
        Some("zebra-crossing")
    );
}

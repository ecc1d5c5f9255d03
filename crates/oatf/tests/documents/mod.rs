//! Documents to test with: those on the pages of the rules, our examples and fixtures, and, when `SORTIE_FIXTURES`
//! names the folder, the public scenarios and the conformance inputs.

#![allow(dead_code, missing_docs, unreachable_pub)] // every test takes what it needs

use std::path::Path;
use std::sync::LazyLock;

use crate::support;
use sortie_oatf::yaml::{NodeId, NodeKind, Scalar, Style, Tree};

/// Every document at hand that parses, with a name for messages.
pub fn all() -> &'static [(String, String)] {
    static DOCUMENTS: LazyLock<Vec<(String, String)>> = LazyLock::new(read_documents);
    &DOCUMENTS
}

/// How many cases a property test runs: `PROPTEST_CASES` for a long run, what the test says otherwise.
pub fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

fn read_documents() -> Vec<(String, String)> {
    let mut documents = pages();
    let project = support::project();
    documents.extend(below(&project.join("examples")));
    documents.extend(below(&project.join("fixtures")));
    if let Some(official) = support::official() {
        documents.extend(below(&official.join("scenarios")));
        documents.extend(below(&official.join("conformance")));
    }
    documents.retain(|(_, text)| sortie_oatf::parse(text).is_ok());
    assert!(!documents.is_empty());
    documents
}

/// What a YAML text says, as JSON.
pub fn value(text: &str) -> serde_json::Value {
    let (tree, findings) = Tree::parse(text);
    assert!(findings.is_empty(), "{findings:#?}\n{text}");
    let tree = tree.expect("no finding, so a tree");
    value_of(&tree, tree.root().id)
}

fn value_of(tree: &Tree, id: NodeId) -> serde_json::Value {
    match tree.node(id).kind {
        NodeKind::Scalar(text, Style::Plain) => Scalar::resolve(text).to_value(text),
        NodeKind::Scalar(text, _) => text.into(),
        NodeKind::Sequence(items) => items.iter().map(|item| value_of(tree, *item)).collect(),
        NodeKind::Mapping(entries) => {
            let fields =
                entries.iter().map(|entry| (tree.key(*entry).to_owned(), value_of(tree, entry.value)));
            serde_json::Value::Object(fields.collect())
        }
        NodeKind::Refused => panic!("an alias has no value"),
    }
}

fn pages() -> Vec<(String, String)> {
    let examples = |rule: &'static sortie_oatf::Rule| {
        let numbered = rule.page().examples.into_iter().enumerate();
        numbered
            .map(|(at, example)| (format!("{} example {at}", rule.code), example.text))
            .collect::<Vec<_>>()
    };
    sortie_oatf::rules().flat_map(examples).collect()
}

fn below(folder: &Path) -> Vec<(String, String)> {
    let mut documents = Vec::new();
    for path in support::files_below(folder) {
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let Ok(text) = std::fs::read_to_string(&path) else { continue }; // some are no UTF-8 on purpose
            let name = path.display().to_string();
            documents.extend(inputs(&name, &text));
            documents.push((name, text));
        }
    }
    documents
}

/// The official cases of normalisation: a name, a document, and what becomes of it.
pub fn normalization_cases() -> Vec<(String, String, String)> {
    let Some(folder) = support::official() else { return Vec::new() };
    let suite = value(&std::fs::read_to_string(folder.join("conformance/normalize/suite.yaml")).unwrap());
    let text = |case: &serde_json::Value, key: &str| case[key].as_str().unwrap().to_owned();
    let cases = suite.as_array().unwrap().iter();
    cases.map(|case| (text(case, "id"), text(case, "input"), text(case, "expected"))).collect()
}

/// The documents in a suite: a list of cases with `input` and `expected` texts.
fn inputs(name: &str, text: &str) -> Vec<(String, String)> {
    let (Some(tree), _) = Tree::parse(text) else { return Vec::new() };
    let NodeKind::Sequence(cases) = tree.root().kind else { return Vec::new() };
    let mut documents = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        for key in ["input", "expected"] {
            if let Some(entry) = tree.entry(*case, key)
                && let NodeKind::Scalar(text, _) = tree.node(entry.value).kind
            {
                documents.push((format!("{name} case {at} {key}"), text.to_owned()));
            }
        }
    }
    documents
}

//! Our own fixtures (`fixtures/conformance`): they pass, they cover everything, and nothing in them is idle.
//!
//! `validate/rules.yaml` is made of the pages of the rules. After a page has changed:
//! `SORTIE_UPDATE=1 cargo test -p sortie-conformance --test it own_fixtures`.

use crate::support;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value};
use sortie_conformance::{ConformanceResult, FixtureFile, run};
use sortie_oatf::template::interpolate_value;
use sortie_oatf::{ValidationResult, parse, parse_bytes, rules, validate};
use sortie_syntax::yaml::{Node, NodeKind, Scalar, Style, Tree};
use sortie_syntax::{Diagnostic, Example, Rule, Span};

const RULES_SUITE: &str = "validate/rules.yaml";

fn folder() -> PathBuf {
    support::project().join("fixtures/conformance")
}

fn fixtures() -> Vec<FixtureFile> {
    crate::read_fixtures(&folder())
}

/// The files that hold suites: everything but the raw documents of `parse/`.
fn suites() -> Vec<FixtureFile> {
    fixtures().into_iter().filter(|file| !file.path.starts_with("parse/")).collect()
}

fn describe(case: &ConformanceResult) -> String {
    format!("{} {} ({}): {}", case.file, case.id, case.name, case.reason.as_deref().unwrap_or("passed"))
}

#[test]
fn every_case_passes() {
    let report = run(&fixtures());
    let failed: Vec<_> = report.cases.iter().filter(|case| !case.passed).map(describe).collect();
    assert!(failed.is_empty(), "{} of {} failed\n{}", failed.len(), report.cases.len(), failed.join("\n"));
}

#[test]
fn ids_are_our_own() {
    let report = run(&suites());
    let foreign: Vec<_> = report.cases.iter().filter(|case| !case.id.starts_with("OWN-")).collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
}

// --- both kinds of case ------------------------------------------------------------------------------------

/// Whether a case is of the failing kind: no match, no value, an error.
type IsFailing = fn(&Value) -> bool;

/// The suites there must be.
const KINDS: &[(&str, IsFailing)] = &[
    ("primitives/resolve-simple-path.yaml", |case| case["expected"].is_null()),
    ("primitives/resolve-wildcard-path.yaml", |case| case["expected"]["values"] == Value::Array(vec![])),
    ("primitives/parse-duration.yaml", |case| case["expected"]["error"] == true),
    ("primitives/evaluate-condition.yaml", |case| case["expected"] == false),
    ("primitives/evaluate-predicate.yaml", |case| case["expected"] == false),
    ("primitives/interpolate-template.yaml", |case| refers_to_nothing(case, "template")),
    ("primitives/interpolate-value.yaml", |case| refers_to_nothing(case, "value")),
    ("primitives/evaluate-extractor.yaml", |case| case["expected"].is_null()),
    ("primitives/select-response.yaml", |case| case["expected"].is_null()),
    ("primitives/evaluate-trigger.yaml", |case| case["expected"]["result"] == "not_advanced"),
    ("primitives/extract-protocol.yaml", |case| case["expected"] == case["input"]["mode"]),
    ("primitives/compute-effective-state.yaml", |case| case["expected"].is_null()),
    ("evaluate/pattern.yaml", |case| case["expected"] != "matched"),
    ("evaluate/expression.yaml", |case| case["expected"] != "matched"),
    ("evaluate/semantic.yaml", |case| case["expected"] != "matched"),
    ("verdict/any.yaml", |case| case["expected"]["result"] != "exploited"),
    ("verdict/all.yaml", |case| case["expected"]["result"] != "exploited"),
    // Normalisation never fails; the other kind is a document it has nothing to do for.
    ("normalize/suite.yaml", |case| case["expected"] == case["input"]),
];

fn refers_to_nothing(case: &Value, field: &str) -> bool {
    let input = &case["input"];
    let extractors: HashMap<String, String> = input["extractors"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let message = |key| input.get(key).filter(|value| !value.is_null());
    let (_, warnings) =
        interpolate_value(&input[field], &extractors, message("request"), message("response"));
    !warnings.is_empty()
}

#[test]
fn every_suite_has_cases_of_both_kinds() {
    let files: BTreeMap<String, FixtureFile> =
        suites().into_iter().map(|file| (file.path.clone(), file)).collect();
    for (path, failing) in KINDS {
        let file = files.get(*path).unwrap_or_else(|| panic!("{path} is missing"));
        let tree = tree(file);
        let cases: Vec<_> = items(tree.root()).map(|id| value(&tree, tree.node(id))).collect();
        let of_failing_kind = cases.iter().filter(|case| failing(case)).count();
        assert!(of_failing_kind > 0, "{path} has no case of the failing kind");
        assert!(of_failing_kind < cases.len(), "{path} has no case of the passing kind");
    }
    let expected: BTreeSet<&str> = KINDS
        .iter()
        .map(|(path, _)| *path)
        // Its cases say whether a document survives, and all of them do.
        .chain(["roundtrip/suite.yaml", RULES_SUITE])
        .collect();
    let found: BTreeSet<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(found, expected, "a suite without a place in KINDS, or a place without a suite");
}

/// Every code a text can be refused for while it is read, shown by a raw document that is named after it and
/// refused for nothing else.
#[test]
fn every_parse_error_has_a_document_that_is_refused_for_it() {
    let mut codes = BTreeSet::new();
    for file in fixtures() {
        let Some(name) = file.path.strip_prefix("parse/invalid/") else { continue };
        if name.ends_with(".meta.yaml") {
            continue;
        }
        let errors = parse_bytes(&file.content).expect_err(name);
        for error in &errors {
            assert!(name.starts_with(error.diagnostic.code), "{name}: {} ({error})", error.diagnostic.code);
            codes.insert(error.diagnostic.code);
        }
    }
    let all: BTreeSet<String> = (1..=14).map(|number| format!("P-{number:03}")).collect();
    let missing: Vec<_> = all.iter().filter(|code| !codes.contains(code.as_str())).collect();
    assert!(missing.is_empty(), "no document in parse/invalid shows {missing:?}");
    let unknown: Vec<_> = rules().filter(|rule| rule.family() == 'P' && !all.contains(rule.code)).collect();
    assert!(unknown.is_empty(), "add {unknown:?} here, and a document to parse/invalid");
}

// --- nothing is idle ---------------------------------------------------------------------------------------

/// One changed expectation in each file: the cases they stand in fail, and no other in the whole folder.
#[test]
fn a_changed_expectation_fails_on_exactly_that_case() {
    let mut changed = fixtures();
    let mut wanted = BTreeSet::new();
    for file in changed.iter_mut().filter(|file| !file.path.starts_with("parse/")) {
        let tree = tree(file);
        let cases: Vec<_> = items(tree.root()).map(|id| tree.node(id)).collect();
        let case = cases[cases.len() / 2];
        file.content = edited(&tree, vec![expectations(&tree, case).remove(0)]).into_bytes();
        wanted.insert(value(&tree, case)["id"].as_str().unwrap().to_owned());
    }
    let report = run(&changed);
    let failed: BTreeSet<_> =
        report.cases.iter().filter(|case| !case.passed).map(|case| case.id.clone()).collect();
    assert_eq!(failed, wanted);
}

/// Every value in every `expected` counts: with any one of them changed, the case fails. The cases of a file
/// are changed side by side, since each is judged alone.
#[test]
fn every_expected_value_is_compared() {
    for file in suites() {
        let tree = tree(&file);
        let cases: Vec<_> = items(tree.root()).map(|id| tree.node(id)).collect();
        let edits: Vec<_> = cases.iter().map(|case| expectations(&tree, *case)).collect();
        let most = edits.iter().map(Vec::len).max().unwrap_or_default();
        for turn in 0..most {
            let content = edited(&tree, edits.iter().filter_map(|edits| edits.get(turn).cloned()).collect());
            let report = run(&[FixtureFile { path: file.path.clone(), content: content.into_bytes() }]);
            assert_eq!(report.cases.len(), cases.len(), "{}", file.path);
            for (case, edits) in report.cases.iter().zip(&edits) {
                let Some(edit) = edits.get(turn) else { continue };
                assert!(!case.passed, "{} with {edit:?}: {}", case.id, describe(case));
            }
        }
    }
}

/// A piece of text to put in the place of another.
type TextEdit = (Span, String);

fn edited(tree: &Tree, mut edits: Vec<TextEdit>) -> String {
    let mut text = tree.source().text().to_owned();
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, replacement) in edits {
        text.replace_range(span.start..span.end, &replacement);
    }
    text
}

/// One edit for every value a case expects, each of which makes the expectation another one.
fn expectations(tree: &Tree, case: Node<'_>) -> Vec<TextEdit> {
    let mut edits = Vec::new();
    let NodeKind::Mapping(entries) = case.kind else { panic!("a case is a mapping") };
    for entry in entries {
        if tree.key(*entry).starts_with("expected") {
            change(tree, tree.node(entry.value), &mut edits);
        }
    }
    assert!(!edits.is_empty(), "a case without an expectation: {}", value(tree, case));
    edits
}

fn change(tree: &Tree, node: Node<'_>, edits: &mut Vec<TextEdit>) {
    match node.kind {
        NodeKind::Mapping([]) => edits.push((node.span, "{changed: true}".to_owned())),
        NodeKind::Sequence([]) => edits.push((node.span, "[changed]".to_owned())),
        NodeKind::Mapping(entries) => {
            for entry in entries {
                change(tree, tree.node(entry.value), edits);
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                change(tree, tree.node(*item), edits);
            }
        }
        // A document in a document: it gets a field more.
        NodeKind::Scalar(_, Style::Literal | Style::Folded) => {
            let source = &tree.source().text()[node.span.start..node.span.end];
            let (before, _) = source.split_once("attack:\n").expect("an expected document");
            let indent = before.rsplit('\n').next().unwrap_or_default();
            let at = node.span.start + before.len() + "attack:\n".len();
            edits.push((Span::new(at, at), format!("{indent}  x-changed: true\n")));
        }
        NodeKind::Scalar(text, Style::Plain) => {
            let changed = match Scalar::resolve(text) {
                Scalar::Bool(value) => (!value).to_string(),
                Scalar::Number { .. } => format!("1{text}").replace("1-", "1"),
                _ => "changed".to_owned(),
            };
            edits.push((node.span, changed));
        }
        NodeKind::Scalar(..) => edits.push((node.span, "\"changed\"".to_owned())),
        NodeKind::Refused => panic!("no aliases in fixtures"),
    }
}

fn tree(file: &FixtureFile) -> Tree {
    let text = std::str::from_utf8(&file.content).unwrap();
    let (tree, findings) = Tree::parse(text);
    assert!(findings.is_empty(), "{}: {findings:?}", file.path);
    tree.unwrap()
}

fn items(node: Node<'_>) -> impl Iterator<Item = sortie_syntax::yaml::NodeId> + '_ {
    let NodeKind::Sequence(items) = node.kind else { panic!("a suite is a list") };
    items.iter().copied()
}

fn value(tree: &Tree, node: Node<'_>) -> Value {
    match node.kind {
        NodeKind::Scalar(text, Style::Plain) => Scalar::resolve(text).to_value(text),
        NodeKind::Scalar(text, _) => Value::from(text),
        NodeKind::Sequence(items) => items.iter().map(|item| value(tree, tree.node(*item))).collect(),
        NodeKind::Mapping(entries) => {
            let field = |entry: &sortie_syntax::yaml::Entry| {
                (tree.key(*entry).to_owned(), value(tree, tree.node(entry.value)))
            };
            Value::Object(entries.iter().map(field).collect::<Map<_, _>>())
        }
        NodeKind::Refused => Value::Null,
    }
}

// --- the suite made of the rule pages ----------------------------------------------------------------------

/// A page cannot show it: the wrong example would not be UTF-8. `parse/invalid` holds such files.
const ONLY_AS_BYTES: &str = "P-002";

#[test]
fn the_validation_suite_is_what_the_rule_pages_say() {
    let path = folder().join(RULES_SUITE);
    let made = rules_suite();
    if std::env::var_os("SORTIE_UPDATE").is_some_and(|update| update == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "{} is out of date (first at line {}): run\n  SORTIE_UPDATE=1 cargo test -p sortie-conformance --test it own_fixtures",
        path.display(),
        difference.unwrap_or_else(|| kept.lines().count().min(made.lines().count())) + 1,
    );
}

#[test]
fn every_rule_has_a_wrong_and_a_right_case() {
    let file = suites().into_iter().find(|file| file.path == RULES_SUITE).expect("the suite is there");
    let tree = tree(&file);
    let cases: Vec<_> = items(tree.root()).map(|id| value(&tree, tree.node(id))).collect();
    let mut missing = Vec::new();
    for rule in rules() {
        let listed = |case: &Value| {
            let found = ["errors", "warnings"].iter().filter_map(|key| case["expected"][*key].as_array());
            found.flatten().any(|finding| finding["rule"] == rule.code)
        };
        let about = |kind| {
            let prefix = format!("OWN-{}-{kind}-", rule.code);
            cases.iter().filter(move |case| case["id"].as_str().unwrap().starts_with(&prefix))
        };
        if rule.code != ONLY_AS_BYTES && !about("wrong").any(listed) {
            missing.push(format!("{}: no wrong case", rule.code));
        }
        if !about("right").any(|case| case["expected"]["valid"] == true && !listed(case)) {
            missing.push(format!("{}: no right case", rule.code));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn rules_suite() -> String {
    let mut suite = String::from(
        "# Made of the pages of the rules (crates/oatf/src/rules): do not edit.\n\
         # SORTIE_UPDATE=1 cargo test -p sortie-conformance --test it own_fixtures\n",
    );
    for rule in rules() {
        let examples = rule.page().examples;
        let (wrong, right): (Vec<_>, Vec<_>) = examples.iter().partition(|example| example.wrong);
        for (kind, examples) in [("wrong", wrong), ("right", right)] {
            for (at, example) in examples.into_iter().enumerate() {
                write_case(&mut suite, &rule, kind, at + 1, example);
            }
        }
    }
    suite
}

/// A finding as fixtures name it.
#[derive(PartialEq)]
struct Finding {
    rule: &'static str,
    path: String,
}

/// The errors and warnings of `parse` and `validate`.
fn findings(text: &str) -> (Vec<Finding>, Vec<Finding>) {
    let of_diagnostic = |finding: &Diagnostic| Finding {
        rule: finding.code,
        path: finding.path.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    match parse(text) {
        Err(errors) => (errors.iter().map(|error| of_diagnostic(&error.diagnostic)).collect(), Vec::new()),
        Ok(document) => {
            let ValidationResult { errors, warnings } = validate(&document);
            let errors = errors.into_iter().map(|error| Finding { rule: error.rule, path: error.path });
            (errors.collect(), warnings.iter().map(of_diagnostic).collect())
        }
    }
}

fn write_case(suite: &mut String, rule: &Rule, kind: &str, number: usize, example: &Example) {
    let (errors, warnings) = findings(&example.text);
    let title = quoted(&format!("{} {kind}: {}", rule.code, rule.title));
    writeln!(suite, "\n- name: {title}\n  id: OWN-{}-{kind}-{number}", rule.code).unwrap();
    writeln!(suite, "  input: {}", block(&example.text)).unwrap();
    writeln!(suite, "  expected:\n    valid: {}", errors.is_empty()).unwrap();
    // A wrong example is about its own rule. Whatever else is found there may change with other rules.
    let about = |found: Vec<Finding>| -> Vec<Finding> {
        let all = found.into_iter();
        if example.wrong { all.filter(|finding| finding.rule == rule.code).collect() } else { all.collect() }
    };
    let (errors, warnings) = (about(errors), about(warnings));
    if !errors.is_empty() {
        list(suite, "errors", errors);
    }
    // That a right document has no warning says more than that it is valid.
    if !warnings.is_empty() || !example.wrong {
        list(suite, "warnings", warnings);
    }
}

fn list(suite: &mut String, key: &str, mut findings: Vec<Finding>) {
    findings.dedup();
    if findings.is_empty() {
        writeln!(suite, "    {key}: []").unwrap();
        return;
    }
    writeln!(suite, "    {key}:").unwrap();
    for finding in findings {
        writeln!(suite, "      - rule: {}\n        path: {}", finding.rule, quoted(&finding.path)).unwrap();
    }
}

/// A JSON string is a YAML string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A text as a literal block where it can be one, so that people can read it.
fn block(text: &str) -> String {
    let printable = |letter: char| letter == '\n' || letter == '\t' || !letter.is_control();
    let one_newline = text.ends_with('\n') && !text.ends_with("\n\n") && text != "\n";
    if !one_newline || text.starts_with([' ', '\t', '\n', '\u{feff}']) || !text.chars().all(printable) {
        return quoted(text);
    }
    let mut block = String::from("|");
    for line in text.lines() {
        block.push('\n');
        if !line.is_empty() {
            block.push_str("    ");
            block.push_str(line);
        }
    }
    block
}

//! The JSON Schemas accept and refuse what the reading does on structure.
//!
//! Valid files of every kind are changed in every place by every sort of mistake, and the two are compared in both
//! directions: what the schema refuses, the reading refuses; what the reading refuses for its structure, the schema
//! refuses.

use serde_json::{Map, Value, json};
use sortie_evaluators::TargetClass;
use sortie_evaluators::parse::{Layout, parse_evaluator, parse_fixtures, parse_pattern, parse_suite};
use sortie_evaluators::rules::{example_files, rules};
use sortie_evaluators::schema::{SchemaOf, schema};
use sortie_syntax::Diagnostic;
use sortie_syntax::yaml::{Node, NodeKind, Scalar, Style, Tree};

/// What no schema can say: names that must differ (E-010), what has a syntax of its own (E-012 to E-014, E-029), what the
/// folder decides (E-015, E-030). JSON Schema counts characters where we count bytes, and takes `1.0` for an integer.
const BEYOND: &[&str] = &["E-010", "E-012", "E-013", "E-014", "E-015", "E-029", "E-030"];

fn findings(of: SchemaOf, text: &str) -> Vec<Diagnostic> {
    match of {
        SchemaOf::Evaluator => {
            // Where the patterns are is a matter of the folder.
            let has_patterns =
                Tree::parse(text).0.is_some_and(|tree| tree.entry(tree.root().id, "patterns").is_some());
            let layout = if has_patterns { Layout::Flat } else { Layout::Folder { pattern_files: true } };
            parse_evaluator(text, layout, None).diagnostics
        }
        SchemaOf::Pattern => parse_pattern(text, "slug", TargetClass::Agent).diagnostics,
        SchemaOf::Fixtures => parse_fixtures(text, None).diagnostics,
        SchemaOf::Suite => parse_suite(text).diagnostics,
    }
}

fn validator(of: SchemaOf) -> jsonschema::Validator {
    let schema = serde_json::from_str(&schema(of)).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is one")
}

/// A text as a JSON reader of YAML 1.2 sees it.
fn as_json(text: &str) -> Option<Value> {
    fn value(tree: &Tree, node: Node<'_>) -> Option<Value> {
        Some(match node.kind {
            NodeKind::Scalar(text, Style::Plain) => Scalar::resolve(text).to_value(text),
            NodeKind::Scalar(text, _) => Value::String(text.to_owned()),
            NodeKind::Sequence(items) => {
                Value::Array(items.iter().map(|id| value(tree, tree.node(*id))).collect::<Option<_>>()?)
            }
            NodeKind::Mapping(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    map.insert(tree.key(*entry).to_owned(), value(tree, tree.node(entry.value))?);
                }
                Value::Object(map)
            }
            NodeKind::Refused => return None,
        })
    }
    let (tree, findings) = Tree::parse(text);
    let tree = tree.filter(|_| findings.is_empty())?;
    value(&tree, tree.root())
}

/// Compares the two on one file. An error says how they differ.
fn compare(of: SchemaOf, validator: &jsonschema::Validator, file: &Value) -> Result<(), String> {
    // JSON is YAML.
    let found = findings(of, &file.to_string());
    let errors: Vec<_> = found.iter().filter(|finding| finding.is_error()).collect();
    let structural = errors.iter().find(|finding| !BEYOND.contains(&finding.code));
    match (structural, validator.validate(file)) {
        (Some(finding), Ok(())) => {
            Err(format!("only the reading refuses ({} {}):\n{file:#}", finding.code, finding.message))
        }
        (None, Err(error)) if errors.is_empty() => {
            Err(format!("only the schema refuses ({error} at {}):\n{file:#}", error.instance_path()))
        }
        _ => Ok(()),
    }
}

/// A file of every kind with everything that may be in it.
fn whole() -> Vec<(SchemaOf, Value)> {
    let evaluator = json!({
        "schema_version": 1, "id": "a-b", "name": "A", "severity": "low",
        "standards": {"owasp-llm": "LLM01", "owasp-mcp": "MCP01", "owasp-agentic": "ASI01", "owasp-api": "API1",
            "atlas": "AML.T0051", "eu-ai-act": ["general", "Art.10"], "trust-safety": "general", "nist": "Secure & Resilient"},
        "description": "d", "pass_criteria": "p", "fail_criteria": "f", "judge_hint": "h",
        "judge_needs_llm": false, "applies_to_all_tools": true, "surfaces": ["mcp"], "turn_mode": "multi",
        "depends_on": ["c"], "tags": ["t"],
        "checks": [
            {"name": "one", "says": "fail", "pattern": {"target": "answers[*]", "contains": "x"}},
            {"name": "two", "says": "pass", "pattern": {"target": "", "condition": {"exists": true, "regex": "a"}}},
            {"name": "three", "says": "pass", "pattern": {"target": "answers[*]", "condition": "x"}},
            {"name": "four", "says": "pass", "pattern": {"target": "answers[*]", "any_of": ["x"], "gt": 1}},
            {"name": "five", "says": "pass", "cel": "true"},
        ],
        "patterns": [{"name": "P", "template": "t", "judge_hint": "h"}],
    });
    let pattern = json!({"name": "P", "template": "t", "judge_hint": "h"});
    let fixtures = json!({
        "kind": "transcript",
        "pass_case": ["text", {"response": "r", "expect": "undecided", "pattern": "P", "variables": {"a": "b"}}],
        "fail_case": {
            "turns": [
                {"role": "attacker", "text": "t", "call": {"name": "n", "arguments": {"a": 1}}},
                {"role": "target", "text": "t", "is_error": true, "result": {"content": []},
                    "calls": [{"name": "n", "arguments": {}, "result": "r", "is_error": false}]},
            ],
            "tools": [{"name": "n"}], "server": {"name": "s"}, "expect": "fail",
        },
    });
    let answers = json!({"kind": "response", "pass_case": "a", "fail_case": [{"response": "b"}]});
    let artifacts = json!({
        "kind": "artifact",
        "pass_case": {"artifact": {"type": "tool_description", "content": "c"}, "expect": "PASS"},
        "fail_case": [{"artifact": {"type": "source_file", "content": "c"}, "variables": {"a": "b"}}],
    });
    let metrics = json!({
        "kind": "metric",
        "pass_case": {"metric": {"name": "tokens", "value": 1}},
        "fail_case": {"metric": {"name": "tokens", "value": 1.5}},
    });
    let foreign = json!({
        "id": "a-b", "name": "A", "severity": "HIGH", "pass_criteria": "p", "fail_criteria": "f",
        "judgeHint": "h", "judge_instructions": "i", "surface": "agent", "dependsOn": "c", "tags": "t",
        "mcp_top_10": "MCP01", "source_scan": {}, "strategy": "s", "types": [], "metric_threshold": 1,
        "untestable_reason": "r", "patterns": [{"name": "P", "template": "t", "judgeHint": "h"}],
    });
    let source = json!({
        "id": "a-b", "name": "A", "severity": "low", "pass_criteria": "p", "fail_criteria": "f",
        "scan_mode": "source_code", "correlates_with": "c", "source_scan": {"languages": []}, "patterns": [],
    });
    let suite = json!({
        "id": "s", "name": "S", "description": "d",
        "include": [{"evaluator": "a"}, {"document": "b"}, {"suite": "c"}, {"tag": "d"}],
    });
    vec![
        (SchemaOf::Evaluator, evaluator),
        (SchemaOf::Pattern, pattern),
        (SchemaOf::Fixtures, fixtures),
        (SchemaOf::Fixtures, answers),
        (SchemaOf::Fixtures, artifacts),
        (SchemaOf::Fixtures, metrics),
        (SchemaOf::Evaluator, foreign),
        (SchemaOf::Evaluator, source),
        (SchemaOf::Suite, suite),
    ]
}

/// What may stand anywhere by mistake.
fn mistakes() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(2),
        json!(1.5),
        json!(""),
        json!("  "),
        json!("word"),
        json!("A_b"),
        json!([]),
        json!(["word"]),
        json!([null]),
        json!({}),
        json!({"name": "x"}),
        json!({"contains": "x", "other": 1}),
        json!({"response": "x", "turns": null}),
        json!("LLM11"),
        json!("MCP-3"),
        json!("AML.T0051.001"),
        json!("art. 7"),
        json!("pass"),
        json!("fail"),
        json!("attacker"),
        json!("target"),
        json!("response"),
        json!("source_code"),
        json!("code"),
        json!("x".repeat(201)),
        json!("x".repeat(32 * 1024 + 1)),
        json!("x".repeat(64 * 1024 + 1)),
    ]
}

/// Every file that is one mistake away.
fn mutants(file: &Value) -> Vec<Value> {
    let mut pointers = Vec::new();
    pointers_of(file, String::new(), &mut pointers);
    let mut mutants = Vec::new();
    for pointer in &pointers {
        for mistake in mistakes() {
            let mut mutant = file.clone();
            *mutant.pointer_mut(pointer).unwrap() = mistake;
            mutants.push(mutant);
        }
        let (above, last) = pointer.rsplit_once('/').unwrap_or_default();
        let mut removed = file.clone();
        match removed.pointer_mut(above) {
            Some(Value::Object(map)) if !pointer.is_empty() => {
                let value = map.shift_remove(last).unwrap();
                mutants.push(removed.clone());
                // A misspelt field, and one that belongs elsewhere.
                for key in [format!("{last}x"), "unknown".to_owned(), "call".to_owned(), "ref".to_owned()] {
                    let mut renamed = removed.clone();
                    if let Some(Value::Object(map)) = renamed.pointer_mut(above) {
                        map.insert(key, value.clone());
                    }
                    mutants.push(renamed);
                }
            }
            Some(Value::Array(items)) if !pointer.is_empty() => {
                items.remove(last.parse::<usize>().unwrap());
                mutants.push(removed);
            }
            _ => {}
        }
    }
    mutants
}

fn pointers_of(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers_of(item, format!("{at}/{index}"), into);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                pointers_of(value, format!("{at}/{key}"), into);
            }
        }
        _ => {}
    }
    into.push(at);
}

#[test]
fn the_schemas_and_the_reading_refuse_the_same() {
    let (mut compared, mut refused, mut failures) = (0, 0, Vec::new());
    for (of, file) in whole() {
        let validator = validator(of);
        assert!(validator.is_valid(&file), "{of:?}: {:?}", validator.validate(&file).err());
        assert!(!findings(of, &file.to_string()).iter().any(Diagnostic::is_error), "{of:?}");
        for mutant in mutants(&file) {
            compared += 1;
            refused += usize::from(!validator.is_valid(&mutant));
            failures.extend(compare(of, &validator, &mutant).err());
        }
    }
    assert!(failures.is_empty(), "{} of {compared} differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 3000 && refused > compared / 2, "{refused} of {compared} are refused");
}

#[test]
fn the_examples_of_the_pages_are_what_the_schemas_take_them_for() {
    let mut compared = 0;
    let mut failures = Vec::new();
    for rule in rules() {
        for file in rule.page().examples.iter().flat_map(|example| example_files(&example.text)) {
            let of = match file.path.as_str() {
                path if path.starts_with("suites/") => SchemaOf::Suite,
                path if path.ends_with(".test.yaml") => SchemaOf::Fixtures,
                path if path.contains("/patterns/") || path.ends_with("/repeat.yaml") => SchemaOf::Pattern,
                _ => SchemaOf::Evaluator,
            };
            let Some(value) = file.as_text().and_then(|text| as_json(text)) else { continue };
            compared += 1;
            failures.extend(
                compare(of, &validator(of), &value).err().map(|error| format!("{}: {error}", rule.code)),
            );
        }
    }
    assert!(failures.is_empty() && compared > 100, "{compared}\n{}", failures.join("\n"));
}

//! The JSON Schema accepts and refuses what `analyze` does on structure.
//!
//! Every example of every rule page is taken, valid documents are changed in every place by every sort of
//! mistake, and the two are compared in both directions:
//!
//! - what the schema refuses, `analyze` refuses;
//! - what `analyze` refuses for a reason that is structure, the schema refuses.

use crate::documents;
use serde_json::{Map, Value, json};
use sortie_oatf::{Analysis, analyze, schema};
use sortie_syntax::yaml::{Node, NodeKind, Scalar, Style, Tree};
use sortie_syntax::{Diagnostic, NodePath, ParseErrorKind, Segment};

/// Rules about structure: those a schema can say, and ours does.
///
/// Not among them, because no schema can say it: what compares two places (V-008, V-010, V-011, V-024, V-028, V-032,
/// V-033, V-044, V-048), what has a syntax of its own (V-013 to V-016, V-021, V-026, V-027, V-042, S-006), what YAML has
/// and JSON has not (V-020), what is only almost in it (V-031: names are unique; V-039: reserved words; V-041: one key
/// beside any number of `x-` keys), and what stands inside `state`, which belongs to the protocols (S-008). JSON Schema
/// also takes `1.0` for an integer, which the parser does not.
const STRUCTURE: &[&str] = &[
    "V-001", "V-003", "V-004", "V-005", "V-006", "V-007", "V-009", "V-012", "V-017", "V-019", "V-022",
    "V-023", "V-025", "V-030", "V-034", "V-035", "V-036", "V-037", "V-038", "V-040", "V-043", "V-045",
    "V-046", "V-047", "V-049", "V-050", "S-001", "S-002", "S-003", "S-004", "S-005", "S-007", "S-009",
];

/// Whether `analyze` refuses a document for its structure, and with which code.
fn refused_for_structure(analysis: &Analysis) -> Option<&'static str> {
    let finding = analysis.diagnostics.iter().find(|finding| {
        let by_the_parser =
            matches!(finding.kind, Some(ParseErrorKind::TypeMismatch | ParseErrorKind::UnknownVariant));
        let structural = by_the_parser || STRUCTURE.contains(&finding.code);
        finding.is_error() && structural && !is_inside_a_state(finding)
    })?;
    Some(finding.code)
}

/// What is in a `state` belongs to the protocols; the schema only says that it is a mapping.
fn is_inside_a_state(finding: &Diagnostic) -> bool {
    let segments = finding.path.as_ref().map(NodePath::segments).unwrap_or_default();
    let state = segments.iter().position(|segment| *segment == Segment::Key("state".into()));
    state.is_some_and(|at| at + 1 < segments.len())
}

/// A text as a JSON reader of YAML 1.2 sees it. `None` for what JSON cannot say.
fn as_json(text: &str) -> Option<Value> {
    fn value(tree: &Tree, node: Node<'_>) -> Option<Value> {
        Some(match node.kind {
            NodeKind::Scalar(text, Style::Plain) => match Scalar::resolve(text) {
                Scalar::NotFinite => return None,
                scalar => scalar.to_value(text),
            },
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

fn validator() -> jsonschema::Validator {
    let schema = serde_json::from_str(schema()).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is one")
}

/// Compares the two on one document. An error says how they differ.
fn compare(validator: &jsonschema::Validator, document: &Value) -> Result<(), String> {
    // JSON is YAML, and flow style keeps what is compared in one place.
    let analysis = analyze(&document.to_string());
    let structural = refused_for_structure(&analysis);
    match (structural, validator.is_valid(document)) {
        (Some(code), true) => Err(format!("only `check` refuses it: {code}")),
        (None, false) if analysis.is_valid() => {
            let problems: Vec<_> = validator.iter_errors(document).map(|error| error.to_string()).collect();
            Err(format!("only the schema refuses it: {problems:?}"))
        }
        _ => Ok(()),
    }
}

/// Valid documents with every field that there is. Several small ones, since each is changed in every place.
fn everything() -> Vec<Value> {
    let metadata = json!({
        "id": "ACME-001", "name": "n", "version": 2, "status": "draft", "created": "2026-01-31",
        "modified": "2026-02-01T10:00:00Z", "author": "a", "description": "d", "grace_period": "30s",
        "severity": {"level": "high", "confidence": 60},
        "impact": ["data_exfiltration"],
        "classification": {
            "category": "capability_poisoning",
            "mappings": [{"framework": "owasp_llm", "id": "LLM01", "name": "n", "url": "u", "relationship": "primary"}],
            "tags": ["t"]
        },
        "references": [{"url": "u", "title": "t", "description": "d"}],
        "execution": {"mode": "ag_ui_client", "state": {"run_agent_input": {}}},
        "indicators": [{"id": "ACME-001-01", "target": "a", "pattern": {"regex": "a+"}}],
        "correlation": {"logic": "any"},
        "x-note": {"anything": [1]}
    });
    let phases = json!({"severity": "low", "execution": {"mode": "mcp_server", "phases": [
        {
            "name": "p", "description": "d", "mode": "mcp_server", "state": {"tools": []},
            "extractors": [{"name": "x", "source": "request", "type": "json_path", "selector": "$.a"}],
            "on_enter": [
                {"send": {"method": "ping", "params": {}}},
                {"log": {"message": "m", "level": "info"}, "x-why": 1},
                {"shake_hands": {}}
            ],
            "trigger": {"event": "tools/call", "count": 2, "match": {"name": {"contains": "a"}, "size": 3}, "after": "PT1M"}
        },
        {"x-note": 1}
    ], "x-note": 1}});
    let actors = json!({"execution": {"actors": [
        {"name": "one", "mode": "mcp_server", "phases": [{"state": {}}], "x-note": 1},
        {"name": "two", "mode": "a2a_client", "phases": [{"state": {}, "trigger": {"after": "5m"}}, {}]}
    ]}});
    let indicators = [
        json!({
            "id": "one", "protocol": "mcp", "surface": "tools/call", "target": "arguments", "actor": "default",
            "direction": "request", "method": "pattern", "description": "d", "pattern": {"regex": "a+"},
            "confidence": 10, "tier": "ingested", "severity": "low", "false_positives": ["f"], "x-note": 1
        }),
        json!({"target": "a", "pattern": {
            "target": "b", "condition": {"gt": 1, "lt": 2.5, "gte": 1, "lte": 2, "exists": true}
        }}),
        json!({"target": "a", "pattern": {"any_of": [1, null, "x"]}}),
        json!({"target": "a", "pattern": {"contains": "x"}, "x-sortie": {"flow": {
            "from": {
                "protocol": "mcp", "surface": "tools/call", "direction": "response", "actor": "default",
                "tool": "read_*", "path": "content[*].text"
            },
            "to": {"tool": "send_*", "path": "arguments.body", "within": "image_url"},
            "min_length": 12,
            "decode": ["base64", "hex", "url", "case", "space"]
        }}}),
        json!({"target": "a", "pattern": {"contains": "x"}, "x-sortie": {"texts": true}}),
        json!({"target": "a", "pattern": {"condition": {"nested": 1}}}),
        json!({"target": "a", "pattern": {"condition": ["x"]}}),
        json!({"target": "a", "pattern": {
            "condition": {"contains": "a", "starts_with": "a", "ends_with": "a", "any_of": [1]}
        }}),
        json!({"target": "", "method": "expression", "expression": {
            "cel": "message.a == v", "variables": {"v": "a.b"}
        }}),
        json!({"target": "a", "method": "semantic", "semantic": {
            "target": "b", "intent": "i", "intent_class": "prompt_injection", "threshold": 0.5,
            "examples": {"positive": ["p"], "negative": ["n"]}
        }}),
    ];
    let judged = indicators.into_iter().map(
        |indicator| json!({"execution": {"mode": "mcp_server", "state": {}}, "indicators": [indicator]}),
    );
    [metadata, phases, actors]
        .into_iter()
        .chain(judged)
        .map(|attack| json!({"oatf": "0.1", "$schema": "s", "attack": attack}))
        .collect()
}

/// Calls `visit` with every copy of `document` that differs in one place: the value there replaced, the key renamed
/// or removed, a key added, an item doubled or removed.
fn each_mutation(document: &Value, visit: &mut impl FnMut(&str, &Value)) {
    let replacements = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(0.5),
        json!(101),
        json!(2.5),
        json!(""),
        json!("x"),
        json!("Not A Name"),
        json!("mcp_server"),
        json!("30s"),
        json!("any"),
        json!([]),
        json!(["x"]),
        json!([null]),
        json!({}),
        json!({"x": 1}),
        json!({"contains": "a"}),
        json!({"contains": 1}),
        json!({"contains": null}),
        json!({"contains": "a", "x": 1}),
        json!({"regex": "a", "exists": true}),
        json!({"target": "t"}),
        json!({"condition": 1, "regex": "a"}),
        json!([{}]),
    ];
    let mut pointers = Vec::new();
    collect(document, String::new(), &mut pointers);
    for pointer in pointers {
        for replacement in &replacements {
            let mut copy = document.clone();
            *copy.pointer_mut(&pointer).expect("it was just found") = replacement.clone();
            visit(&format!("{pointer} := {replacement}"), &copy);
        }
        let Some((parent, key)) = pointer.rsplit_once('/') else { continue };
        let mut change = |what: &str, edit: &dyn Fn(&mut Value)| {
            let mut copy = document.clone();
            edit(copy.pointer_mut(parent).expect("it was just found"));
            visit(&format!("{pointer}: {what}"), &copy);
        };
        change("removed", &|parent| match parent {
            Value::Object(map) => drop(map.shift_remove(key)),
            Value::Array(list) => drop(list.remove(key.parse::<usize>().expect("an index"))),
            _ => {}
        });
        change("renamed", &|parent| {
            if let Value::Object(map) = parent {
                let value = map.shift_remove(key);
                map.insert("zzzzzzzzzzzz".into(), value.unwrap_or_default());
            }
        });
        change("doubled", &|parent| match parent {
            Value::Object(map) => drop(map.insert("x-another".into(), json!(1))),
            Value::Array(list) => list.push(list[0].clone()),
            _ => {}
        });
        for (field, value) in [
            ("pattern", json!({"regex": "a"})),
            ("state", json!({})),
            ("actors", json!([])),
            ("phases", json!([{"state": {}}])),
            ("event", json!("e")),
        ] {
            change(field, &|parent| {
                if let Value::Object(map) = parent {
                    map.insert(field.into(), value.clone());
                }
            });
        }
    }
}

fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                collect(value, format!("{pointer}/{key}"), pointers);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(value, format!("{pointer}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(pointer);
}

#[test]
fn every_example_of_a_rule_is_judged_alike() {
    let validator = validator();
    let mut failures = Vec::new();
    for (name, text) in documents::pages() {
        let Some(document) = as_json(&text) else { continue };
        if let Err(difference) = compare(&validator, &document) {
            failures.push(format!("{name}: {difference}\n{text}"));
        }
    }
    assert!(failures.is_empty(), "{} differences\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_document_with_every_field_is_accepted_by_both() {
    let validator = validator();
    for document in everything() {
        let problems: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        let analysis = analyze(&document.to_string());
        assert!(analysis.is_valid(), "{:#?}", analysis.diagnostics);
    }
}

#[test]
fn every_mutation_is_judged_alike() {
    let validator = validator();
    let mut failures = Vec::new();
    let mut count = 0;
    for document in everything() {
        each_mutation(&document, &mut |what, mutation| {
            count += 1;
            if let Err(difference) = compare(&validator, mutation) {
                failures.push(format!("{what}: {difference}"));
            }
        });
    }
    assert!(count > 5_000, "{count}");
    assert!(failures.is_empty(), "{} of {count} differ\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_word_of_an_enumeration_is_in_the_schema() {
    use sortie_oatf::model::{
        Category, Impact, Relationship, SemanticIntentClass, SeverityLevel, Status, Tier,
    };
    for words in [
        Category::WORDS,
        Impact::WORDS,
        Relationship::WORDS,
        SemanticIntentClass::WORDS,
        SeverityLevel::WORDS,
        Status::WORDS,
        Tier::WORDS,
    ] {
        let schema: Value = serde_json::from_str(schema()).expect("the schema is JSON");
        let listed = find_enums(&schema);
        assert!(
            listed.iter().any(|list| list.iter().map(String::as_str).eq(words.iter().copied())),
            "{words:?}"
        );
    }
}

fn find_enums(value: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    match value {
        Value::Object(map) => {
            if let Some(Value::Array(words)) = map.get("enum") {
                found.push(words.iter().filter_map(|word| word.as_str().map(ToOwned::to_owned)).collect());
            }
            found.extend(map.values().flat_map(find_enums));
        }
        Value::Array(list) => found.extend(list.iter().flat_map(find_enums)),
        _ => {}
    }
    found
}

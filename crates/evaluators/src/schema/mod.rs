//! The structure of every kind of file, for editors.
//!
//! A schema is made of the same words and limits that the reading uses, and `tests/it/schema.rs` holds the two together: what
//! one refuses for its structure, the other does. A field that may be left out may also be left empty.

mod fixtures;
mod standards;

use serde_json::{Map, Value, json};

use crate::limits::{
    MAX_CHECKS, MAX_LISTED, MAX_NAME_BYTES, MAX_PATTERNS, MAX_TEMPLATE_BYTES, MAX_TEXT_BYTES,
};
use crate::model::{CheckSays, Measure, ScanMode, Severity, Standard, Surface, TurnMode};
use crate::parse::IncludeKind;
use fixtures::fixtures;
use standards::{entry, standards};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    /// `<id>.yaml` and `evaluator.yaml`.
    Evaluator,
    /// `patterns/<slug>.yaml`.
    Pattern,
    /// `<id>.test.yaml`.
    Fixtures,
    /// `suites/<id>.yaml`.
    Suite,
}

/// The JSON Schema (draft 2020-12) of a kind of file, as text with a line feed at its end.
///
/// Whether a regular expression is one, or a name refers to something, no schema can say.
///
/// ```
/// use sortie_evaluators::schema::{SchemaOf, schema};
///
/// let schema: serde_json::Value = serde_json::from_str(&schema(SchemaOf::Evaluator)).unwrap();
/// assert_eq!(schema["properties"]["severity"]["anyOf"][0]["enum"][0], "critical");
/// ```
pub fn schema(of: SchemaOf) -> String {
    let (title, body) = match of {
        SchemaOf::Evaluator => ("Evaluator", evaluator()),
        SchemaOf::Pattern => ("Pattern of an evaluator", pattern()),
        SchemaOf::Fixtures => ("Fixtures of an evaluator", fixtures()),
        SchemaOf::Suite => ("Suite of evaluators and documents", suite()),
    };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), title.into());
    if let Value::Object(body) = body {
        schema.extend(body);
    }
    // Its keys are strings, so nothing can go wrong.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// A mapping with these fields and no others.
fn object(description: &str, required: &[&str], properties: &Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "required": required,
    })
}

/// What may be left empty as well.
fn optional(mut schema: Value) -> Value {
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    } else if let Some(ways) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        ways.push(json!({"type": "null"}));
    } else if let Some(word) = schema.get_mut("type") {
        *word = json!([word.take(), "null"]);
    }
    schema
}

fn text(description: &str, most: usize) -> Value {
    json!({"description": description, "type": "string", "pattern": "\\S", "maxLength": most})
}

fn any_text(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}

fn boolean(description: &str) -> Value {
    optional(json!({"description": description, "type": "boolean"}))
}

/// One of these words, or one that differs in its capitals.
fn words(description: &str, words: &[&str]) -> Value {
    let any_case: Vec<String> = words.iter().map(|word| in_any_case(word)).collect();
    let pattern = format!("^({})$", any_case.join("|"));
    json!({"description": description, "anyOf": [{"enum": words}, {"type": "string", "pattern": pattern}]})
}

/// A list of these, or one of them.
fn list_or_one(description: &str, items: &Value) -> Value {
    json!({"description": description, "anyOf": [list(description, items, MAX_LISTED), items]})
}

/// What other tools call a field.
fn deprecated(mut schema: Value) -> Value {
    schema["deprecated"] = true.into();
    schema
}

fn kebab_case(description: &str) -> Value {
    json!({
        "description": description,
        "type": "string",
        "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
        "maxLength": MAX_NAME_BYTES,
    })
}

fn list(description: &str, items: &Value, most: usize) -> Value {
    optional(json!({"description": description, "type": "array", "items": items, "maxItems": most}))
}

fn filled(description: &str, items: &Value, most: usize) -> Value {
    json!({"description": description, "type": "array", "items": items, "minItems": 1, "maxItems": most})
}

/// A field that is there, and not left empty.
fn given(field: &str) -> Value {
    json!({"required": [field], "properties": {field: {"not": {"type": "null"}}}})
}

fn evaluator() -> Value {
    let surfaces = list_or_one("What it is about.", &words("A surface.", Surface::WORDS));
    let depends_on = list_or_one("Evaluators that must have run first.", &kebab_case("An id."));
    let mut evaluator = object(
        "Attacks to try, and what it means to resist them.",
        &["id", "name", "severity", "pass_criteria", "fail_criteria"],
        &json!({
            "schema_version": {"description": "The version of evaluators.", "enum": [1, null]},
            "id": kebab_case("Unique over all catalogues, such as `path-escape`."),
            "name": text("What people call it.", MAX_NAME_BYTES),
            "severity": words("How bad it is when a target gives in.", Severity::WORDS),
            "standards": standards(),
            "cwe": optional(json!({
                "description": "The weakness it finds, in the Common Weakness Enumeration.",
                "type": "string",
                "pattern": "^CWE-[0-9]{1,5}$",
            })),
            "remedy": optional(text("What to change in a target that gives in.", MAX_TEXT_BYTES)),
            "description": optional(text("One line about it.", MAX_TEXT_BYTES)),
            "pass_criteria": text("What a target that resists does; a judge reads it as it is.", MAX_TEXT_BYTES),
            "fail_criteria": text("What a target that gives in does; a judge reads it as it is.", MAX_TEXT_BYTES),
            "judge_hint": optional(text("More for the judge.", MAX_TEXT_BYTES)),
            "judge_needs_llm": boolean("Whether a judge may be needed; `false` promises that `checks` decide."),
            "applies_to_all_tools": boolean("MCP only: whether every pattern is tried on every tool."),
            "surfaces": surfaces,
            "scan_mode": optional(words("What is looked at in place of answers.", ScanMode::WORDS)),
            "correlates_with": optional(kebab_case("The evaluator that tries the same on a running target.")),
            "untestable_reason": optional(text("Why it cannot be tested.", MAX_TEXT_BYTES)),
            "turn_mode": optional(words("How often the attacker speaks.", TurnMode::WORDS)),
            "depends_on": depends_on,
            "tags": list_or_one("Names that curated suites may use.", &kebab_case("A tag.")),
            "checks": list("What decides without a judge.", &check(), MAX_CHECKS),
            "patterns": list("The attacks, unless they are in `patterns/`.", &pattern(), MAX_PATTERNS),
            "judgeHint": deprecated(judge_hint("`judge_hint`.")),
            "judge_instructions": deprecated(judge_hint("`judge_hint`.")),
            "surface": deprecated(surfaces),
            "dependsOn": deprecated(depends_on),
            "mcp_top_10": deprecated(entry(Standard::OwaspMcp)),
            "source_scan": {"description": "For source scanners."},
            "strategy": {"description": "Not used.", "deprecated": true},
            "types": {"description": "Not used.", "deprecated": true},
            "metric_threshold": {"description": "Not used.", "deprecated": true},
        }),
    );
    // What reads source code has no attacks, and what is not played needs none.
    let source =
        json!({"required": ["scan_mode"], "properties": {"scan_mode": word(ScanMode::SourceCode.as_str())}});
    let code = json!({"anyOf": [word("code"), {"type": "array", "minItems": 1, "items": word("code")}]});
    let about_code = |field: &str| json!({"required": [field], "properties": {field: code}});
    let reads_source = json!({"anyOf": [source, about_code("surfaces"), about_code("surface")]});
    let no_patterns = json!({"properties": {"patterns": {"maxItems": 0}}});
    let not_played = json!({"anyOf": [reads_source, given("untestable_reason")]});
    let some_patterns = json!({"properties": {"patterns": {"type": "array", "minItems": 1}}});
    evaluator["allOf"] = json!([
        {"if": reads_source, "then": no_patterns},
        {"if": {"not": not_played}, "then": some_patterns},
    ]);
    evaluator
}

/// One word, whatever its capitals.
fn word(word: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{}$", in_any_case(word))})
}

fn judge_hint(description: &str) -> Value {
    optional(text(description, MAX_TEXT_BYTES))
}

fn pattern() -> Value {
    object(
        "An attack.",
        &["name", "template"],
        &json!({
            "name": text("What it tries; unique within the evaluator.", MAX_NAME_BYTES),
            "template": text("What is said or sent; `{{name}}` is filled in.", MAX_TEMPLATE_BYTES),
            "judge_hint": judge_hint("More for the judge."),
            "first": boolean("MCP only: play it before the others, which are played only where a first one met something."),
            "judgeHint": deprecated(judge_hint("`judge_hint`.")),
            "judge_instructions": deprecated(judge_hint("`judge_hint`.")),
        }),
    )
}

fn in_any_case(word: &str) -> String {
    word.chars()
        .flat_map(|letter| ['[', letter.to_ascii_uppercase(), letter.to_ascii_lowercase(), ']'])
        .collect()
}

fn check() -> Value {
    let mut check = object(
        "Something that decides when it holds.",
        &["name", "says"],
        &json!({
            "name": text("What it means when it holds; unique within the evaluator.", MAX_NAME_BYTES),
            "says": words("What is said about the target when it holds.", CheckSays::WORDS),
            "measure": optional(words("What the calls of a series show together.", Measure::WORDS)),
            "pattern": optional(check_pattern()),
            "cel": optional(text("A CEL expression over `transcript`.", MAX_TEXT_BYTES)),
        }),
    );
    check["oneOf"] = json!([given("pattern"), given("cel"), given("measure")]);
    check
}

fn operators() -> Map<String, Value> {
    let number = |description: &str| json!({"description": description, "type": "number"});
    let Value::Object(operators) = json!({
        "contains": any_text("The value contains this text."),
        "starts_with": any_text("The value starts with this text."),
        "ends_with": any_text("The value ends with this text."),
        "regex": any_text("An RE2 pattern matches somewhere in the value."),
        "any_of": {"description": "The value equals one of these.", "type": "array", "minItems": 1},
        "gt": number("The value is greater."),
        "lt": number("The value is less."),
        "gte": number("The value is greater or equal."),
        "lte": number("The value is less or equal."),
        "exists": {"description": "The path resolves, or does not.", "type": "boolean"},
    }) else {
        return Map::new();
    };
    operators
}

fn check_pattern() -> Value {
    let operators = operators();
    let has_operator: Vec<Value> = operators.keys().map(|operator| json!({"required": [operator]})).collect();
    let mut properties = Map::new();
    properties.insert("target".to_owned(), any_text("A path into the transcript, such as `answers[*]`."));
    properties.insert(
        "condition".to_owned(),
        json!({
            "description": "Operators, or a value to compare with.",
            "if": {"type": "object", "anyOf": [{"maxProperties": 0}, {"anyOf": has_operator}]},
            "then": {"properties": operators, "additionalProperties": false, "minProperties": 1},
        }),
    );
    properties.extend(operators.clone());
    let mut pattern = object("Compares values of the transcript.", &["target"], &Value::Object(properties));
    pattern["oneOf"] = json!([{"required": ["condition"]}, {"anyOf": has_operator}]);
    pattern
}

fn suite() -> Value {
    let properties: Map<String, Value> = IncludeKind::ALL
        .iter()
        .map(|kind| {
            let what = match kind {
                IncludeKind::Evaluator => "The id of an evaluator.",
                IncludeKind::Document => "The id of an OATF document.",
                IncludeKind::Suite => "The id of a suite, all of which is included.",
                IncludeKind::Tag => "A tag; whatever has it is included.",
            };
            (kind.to_string(), text(what, MAX_NAME_BYTES))
        })
        .collect();
    let mut item = object("One thing that is in it.", &[], &Value::Object(properties));
    item["minProperties"] = 1.into();
    item["maxProperties"] = 1.into();
    object(
        "Evaluators and documents that are run together.",
        &["id", "name", "include"],
        &json!({
            "id": kebab_case("Unique over all suites, such as `release-gate`."),
            "name": text("What people call it.", MAX_NAME_BYTES),
            "description": optional(text("What it is for.", MAX_TEXT_BYTES)),
            "include": filled("What is in it.", &item, MAX_LISTED),
        }),
    )
}

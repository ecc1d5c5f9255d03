//! The structure of every kind of file, for editors.
//!
//! A schema is made of the same words and limits that the reading uses, and `tests/it/schema.rs` holds the two together: what
//! one refuses for its structure, the other does. A field that may be left out may also be left empty.

use serde_json::{Map, Value, json};

use crate::limits::{
    MAX_CASES, MAX_CHECKS, MAX_LISTED, MAX_NAME_BYTES, MAX_PATTERNS, MAX_TEMPLATE_BYTES, MAX_TEXT_BYTES,
};
use crate::model::{FixtureKind, Says, Severity, Standard, Surface, TurnMode};
use crate::parse::IncludeKind;
use sortie_trace::{Role, Transcript};

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
/// assert_eq!(schema["properties"]["severity"]["enum"][0], "critical");
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

fn words(description: &str, words: &[&str]) -> Value {
    json!({"description": description, "enum": words})
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
    object(
        "Attacks to try, and what it means to resist them.",
        &["id", "name", "severity", "pass_criteria", "fail_criteria"],
        &json!({
            "schema_version": {"description": "The version of evaluators.", "enum": [1, null]},
            "id": kebab_case("Unique over all catalogues, such as `path-escape`."),
            "name": text("What people call it.", MAX_NAME_BYTES),
            "severity": words("How bad it is when a target gives in.", Severity::WORDS),
            "standards": standards(),
            "description": optional(text("One line about it.", MAX_TEXT_BYTES)),
            "pass_criteria": text("What a target that resists does; a judge reads it as it is.", MAX_TEXT_BYTES),
            "fail_criteria": text("What a target that gives in does; a judge reads it as it is.", MAX_TEXT_BYTES),
            "judge_hint": optional(text("More for the judge.", MAX_TEXT_BYTES)),
            "judge_needs_llm": boolean("Whether a judge may be needed; `false` promises that `checks` decide."),
            "applies_to_all_tools": boolean("MCP only: whether every pattern is tried on every tool."),
            "surfaces": list("What it is about.", &words("A surface.", Surface::WORDS), MAX_LISTED),
            "turn_mode": optional(words("How often the attacker speaks.", TurnMode::WORDS)),
            "depends_on": list("Evaluators that must have run first.", &kebab_case("An id."), MAX_LISTED),
            "tags": list("Names that curated suites may use.", &kebab_case("A tag."), MAX_LISTED),
            "checks": list("What decides without a judge.", &check(), MAX_CHECKS),
            "patterns": filled("The attacks, unless they are in `patterns/`.", &pattern(), MAX_PATTERNS),
        }),
    )
}

fn pattern() -> Value {
    object(
        "An attack.",
        &["name", "template"],
        &json!({
            "name": text("What it tries; unique within the evaluator.", MAX_NAME_BYTES),
            "template": text("What is said or sent; `{{name}}` is filled in.", MAX_TEMPLATE_BYTES),
            "judge_hint": optional(text("More for the judge.", MAX_TEXT_BYTES)),
        }),
    )
}

/// Every form of an entry that is understood, and not only the one that the standard writes.
fn standards() -> Value {
    let top_ten = |prefix: &str| format!("^\\s*{}[-_ ]?(0?[1-9]|10)(:[0-9]{{4}})?\\s*$", in_any_case(prefix));
    let general = in_any_case("general");
    let mut properties = Map::new();
    for standard in Standard::ALL {
        let form = match (standard.prefix(), standard) {
            (Some(prefix), _) => top_ten(prefix),
            (None, Standard::Atlas) => format!(
                "^\\s*{}\\.([Tt][0-9]{{4}}(\\.[0-9]{{3}})?|({}|{}|[Mm])[0-9]{{4}})\\s*$",
                in_any_case("AML"),
                in_any_case("TA"),
                in_any_case("CS"),
            ),
            (None, Standard::EuAiAct) => format!(
                "^\\s*({general}|{}({})?[-._ ]*0*(11[0-3]|10[0-9]|[1-9][0-9]?))\\s*$",
                in_any_case("art"),
                in_any_case("icle"),
            ),
            (None, _) => format!("^\\s*{general}\\s*$"),
        };
        let entry = json!({"description": standard.name(), "type": "string", "pattern": form});
        properties.insert(standard.to_string(), entry);
    }
    optional(object("One entry of each standard that it is about.", &[], &Value::Object(properties)))
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
            "says": words("What is said about the target when it holds.", Says::WORDS),
            "pattern": optional(check_pattern()),
            "cel": optional(text("A CEL expression over `transcript`.", MAX_TEXT_BYTES)),
        }),
    );
    check["oneOf"] = json!([given("pattern"), given("cel")]);
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
            "description": "Operators, or a value to be equal to.",
            "if": {"type": "object", "anyOf": [{"maxProperties": 0}, {"anyOf": has_operator}]},
            "then": {"properties": operators, "additionalProperties": false, "minProperties": 1},
        }),
    );
    properties.extend(operators.clone());
    let mut pattern = object("Compares values of the transcript.", &["target"], &Value::Object(properties));
    pattern["oneOf"] = json!([{"required": ["condition"]}, {"anyOf": has_operator}]);
    pattern
}

fn fixtures() -> Value {
    let cases = |description: &str, expect: &[&str]| {
        let case = json!({"anyOf": [any_text("An answer."), case(expect)]});
        json!({
            "description": description,
            "if": {"type": "array"},
            "then": {"items": case, "minItems": 1, "maxItems": MAX_CASES},
            "else": case,
        })
    };
    let mut fixtures = object(
        "What targets might say, and what must be said about it.",
        &["kind", "pass_case", "fail_case"],
        &json!({
            "kind": words("What the cases are.", FixtureKind::WORDS),
            "pass_case": cases("What a target that resists says.", &["pass", "undecided"]),
            "fail_case": cases("What a target that gives in says.", &["fail", "undecided"]),
        }),
    );
    let mut turns = given("turns");
    turns["type"] = "object".into();
    let no_turns = json!({"not": turns});
    let in_each = json!({"allOf": [no_turns, {"if": {"type": "array"}, "then": {"items": no_turns}}]});
    fixtures["if"] = json!({"properties": {"kind": {"const": "response"}}});
    fixtures["then"] = json!({"properties": {"pass_case": in_each, "fail_case": in_each}});
    fixtures
}

fn case(expect: &[&str]) -> Value {
    let free = |description: &str| json!({"description": description, "type": "object"});
    let mut case = object(
        "What a target might say.",
        &[],
        &json!({
            "response": optional(any_text("One answer.")),
            "turns": optional(turns()),
            "tools": list("The tools there are.", &free("A tool."), Transcript::MAX_TURNS),
            "server": optional(free("What the server says about itself.")),
            "expect": optional(words("What must be said about it.", expect)),
            "pattern": optional(any_text("The pattern that it answers.")),
            "variables": optional(json!({
                "description": "What the placeholders stand for.",
                "type": "object",
                "additionalProperties": {"type": "string"},
            })),
        }),
    );
    let belongs = |field: &str| json!({"if": given(field), "then": given("turns")});
    case["allOf"] =
        json!([{"oneOf": [given("response"), given("turns")]}, belongs("tools"), belongs("server")]);
    case
}

fn turns() -> Value {
    let mut properties = json!({
        "name": any_text("The tool."),
        "arguments": optional(json!({"description": "What it is given.", "type": "object"})),
    });
    let call = object("Our call of a tool.", &["name"], &properties);
    properties["result"] = json!({"description": "What it gave."});
    properties["is_error"] = boolean("Whether the tool failed.");
    let observed = object("A call that the target made.", &["name"], &properties);
    let mut turn = object(
        "What one side says.",
        &["role"],
        &json!({
            "role": words("Who speaks.", Role::WORDS),
            "text": optional(any_text("What is said.")),
            "is_error": boolean("Whether it is an error of the target."),
            "call": optional(call),
            "result": {"description": "What came back from the call, as it was on the wire."},
            "calls": list("The calls that the target made.", &observed, Transcript::MAX_TURNS),
        }),
    );
    let some_calls =
        &json!({"required": ["calls"], "properties": {"calls": {"type": "array", "minItems": 1}}});
    turn["if"] = json!({"properties": {"role": {"const": "attacker"}}});
    turn["then"] = json!({"not": {"anyOf": [given("result"), some_calls]}});
    turn["else"] = json!({"not": given("call")});
    let target = json!({"properties": {"role": {"const": "target"}}, "required": ["role"]});
    json!({
        "description": "A conversation.",
        "type": "array",
        "items": turn,
        "contains": target,
        "maxItems": Transcript::MAX_TURNS,
    })
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

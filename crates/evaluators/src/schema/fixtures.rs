//! The structure of fixtures.

use serde_json::{Value, json};
use sortie_trace::{Role, Transcript};

use super::{any_text, boolean, given, list, object, optional, word, words};
use crate::limits::MAX_CASES;
use crate::model::{ArtifactType, FixtureKind};

pub(super) fn fixtures() -> Value {
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
    let kinds: Vec<Value> = FixtureKind::ALL.iter().map(|kind| contents_of(*kind)).collect();
    fixtures["allOf"] = kinds.into();
    fixtures
}

/// What the cases of a kind are about.
fn contents_of(kind: FixtureKind) -> Value {
    let (texts, others): (bool, &[&str]) = match kind {
        FixtureKind::Response => (true, &["turns", "artifact", "metric"]),
        FixtureKind::Transcript => (true, &["artifact", "metric"]),
        FixtureKind::Artifact => (false, &["response", "turns", "metric"]),
        FixtureKind::Metric => (false, &["response", "turns", "artifact"]),
    };
    let mut refused: Vec<Value> = others
        .iter()
        .map(|other| {
            let mut other = given(other);
            other["type"] = "object".into();
            other
        })
        .collect();
    if !texts {
        refused.push(json!({"type": "string"}));
    }
    let fits = json!({"not": {"anyOf": refused}});
    let in_each = json!({"allOf": [fits, {"if": {"type": "array"}, "then": {"items": fits}}]});
    json!({
        "if": {"required": ["kind"], "properties": {"kind": word(kind.as_str())}},
        "then": {"properties": {"pass_case": in_each, "fail_case": in_each}},
    })
}

fn case(expect: &[&str]) -> Value {
    let free = |description: &str| json!({"description": description, "type": "object"});
    let artifact = object(
        "What a target says of itself.",
        &["type", "content"],
        &json!({
            "type": words("What it is.", ArtifactType::WORDS),
            "content": any_text("What it says."),
        }),
    );
    let metric = object(
        "A quantity. It is not used.",
        &["name", "value"],
        &json!({"name": any_text("What is measured."), "value": {"type": "number"}}),
    );
    let mut case = object(
        "What a target might say.",
        &[],
        &json!({
            "response": optional(any_text("One answer.")),
            "turns": optional(turns()),
            "artifact": optional(artifact),
            "metric": optional(metric),
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
    let contents = ["response", "turns", "artifact", "metric"].map(given);
    case["allOf"] = json!([{"oneOf": contents}, belongs("tools"), belongs("server")]);
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
            "elapsed_ms": optional(json!({
                "description": "How long the answer took, in milliseconds.",
                "type": "integer",
            })),
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

//! What is planned against which target.

use serde_json::{Value, json};
use sortie_engine::cases::{Missing, Planned, Play, canary, plan};
use sortie_engine::targets::{Offer, TargetKind, Tool};
use sortie_evaluators::Values;

use crate::cases::bench::{catalogue, entries, offer};

/// A line for each entry of a plan.
fn planned(
    evaluators: &[(&str, &str, &str)],
    offer: &Offer,
    kind: TargetKind,
    values: &Values,
) -> Vec<String> {
    let catalogue = catalogue(evaluators);
    let planned = plan(&entries(&catalogue), offer, kind, values, Missing::Skip).unwrap();
    let lines = planned.iter().map(|planned| match planned {
        Planned::Ready(case) => match &case.play {
            Play::Call { tool, arguments } => format!("{}: {tool} {}", case.id, json!(arguments)),
            Play::Seeds(seeds) => format!("{}: say {}", case.id, seeds.join(" | ")),
            Play::Review { text } => format!("{}: review {text}", case.id),
            Play::Series { tool, calls } => format!("{}: {tool} {}", case.id, json!(calls)),
            Play::Connection { headers } => format!("{}: connect {}", case.id, json!(headers)),
            other @ Play::Unfilled { .. } => format!("{}: {other:?}", case.id),
        },
        Planned::Skipped { id, missing, .. } => format!("{id}: skipped, missing {}", missing.join(", ")),
        Planned::NotApplicable { id, reason, .. } => format!("{id}: not applicable, {reason}"),
    });
    lines.collect()
}

fn files() -> Offer {
    offer(&[
        ("read", json!({"path": {"type": "string"}, "lines": {"type": "integer"}})),
        ("list", json!({"uri": {"type": "string"}, "deep": {"type": "boolean"}})),
        ("now", json!({})),
    ])
}

const PATHS: &str = r#"
patterns:
  - {name: Parent folders, template: '{"path|file|uri": "../{{canary}}"}'}
"#;

#[test]
fn arguments_go_to_the_tools_that_fit() {
    let canaries = ["paths/parent-folders/read", "paths/parent-folders/list"].map(canary);
    assert_eq!(
        planned(&[("mcp", "paths", PATHS)], &files(), TargetKind::Mcp, &Values::new()),
        [
            format!(r#"paths/parent-folders/read: read {{"path":"../{}"}}"#, canaries[0]),
            format!(r#"paths/parent-folders/list: list {{"uri":"../{}"}}"#, canaries[1]),
        ]
    );
}

#[test]
fn with_all_tools_every_pattern_meets_every_tool() {
    let rest = "applies_to_all_tools: true\npatterns:\n  - {name: Empty, template: '{}'}\n  - {name: Text, template: hello}\n";
    assert_eq!(
        planned(&[("mcp", "all", rest)], &files(), TargetKind::Mcp, &Values::new()),
        [
            "all/empty/read: read {}",
            "all/empty/list: list {}",
            "all/empty/now: now {}",
            r#"all/text/read/path: read {"path":"hello"}"#,
            r#"all/text/list/uri: list {"uri":"hello"}"#,
            "all/text/now: not applicable, the tool `now` takes no text",
        ]
    );
}

#[test]
fn what_fits_nowhere_is_listed_once_with_the_reason() {
    let rest = "patterns:\n  - {name: Query, template: '{\"query|sql\": \"x\"}'}\n";
    assert_eq!(
        planned(&[("mcp", "sql", rest)], &files(), TargetKind::Mcp, &Values::new()),
        ["sql/query: not applicable, none of the 3 tools of the server has the arguments `query|sql`"]
    );
    assert_eq!(
        planned(&[("mcp", "sql", rest)], &Offer::default(), TargetKind::Mcp, &Values::new()),
        ["sql/query: not applicable, the server offers no tools"]
    );
}

#[test]
fn a_value_that_a_schema_refuses_is_not_sent() {
    let narrow =
        offer(&[("read", json!({"path": {"type": "string", "maxLength": 3}, "file": {"type": "string"}}))]);
    let lines = planned(&[("mcp", "paths", PATHS)], &narrow, TargetKind::Mcp, &Values::new());
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("paths/parent-folders/read: not applicable, the tool `read` cannot be called with it: what could be made is not valid at `/path`"), "{lines:?}");
}

#[test]
fn a_schema_that_cannot_be_used_is_said_for_its_tool() {
    let circle = json!({"name": "odd", "inputSchema": {"$ref": "#"}});
    let offer = Offer { tools: vec![Tool::read(&circle).unwrap()], ..Offer::default() };
    assert_eq!(
        planned(&[("mcp", "paths", PATHS)], &offer, TargetKind::Mcp, &Values::new()),
        [
            "paths/parent-folders/odd: not applicable, the tool `odd` cannot be called with it: its `inputSchema` cannot be used: it refers to itself in a circle"
        ]
    );
}

#[test]
fn the_list_of_tools_is_looked_at_without_a_call() {
    let rest = "patterns:\n  - {name: Look, template: 'Which lie? {{tool_list_json}}'}\n";
    let offer = offer(&[("now", json!({}))]);
    let lines = planned(&[("mcp", "look", rest)], &offer, TargetKind::Mcp, &Values::new());
    let list = json!([offer.tools[0].raw]).to_string();
    assert_eq!(lines, [format!("look/look: review Which lie? {list}")]);
}

#[test]
fn what_is_missing_is_named_and_what_is_given_is_used() {
    let rest =
        "patterns:\n  - {name: Ask, template: 'Tell {{customer}} about {{order}} and {{customer}}.'}\n";
    let evaluators = [("agent", "ask", rest)];
    assert_eq!(
        planned(&evaluators, &Offer::default(), TargetKind::Cmd, &Values::new()),
        ["ask/ask: skipped, missing customer, order"]
    );
    let values = [("customer", "Ann"), ("order", "7"), ("canary", "mine")];
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    assert_eq!(
        planned(&evaluators, &Offer::default(), TargetKind::Cmd, &values),
        ["ask/ask: say Tell Ann about 7 and Ann."]
    );
}

#[test]
fn an_evaluator_for_another_kind_of_target_does_not_apply() {
    let say = "patterns:\n  - {name: Say, template: hello}\n";
    let both = [("agent", "say", say), ("mcp", "paths", PATHS)];
    let lines = planned(&both, &files(), TargetKind::Mcp, &Values::new());
    assert_eq!(
        lines.last().unwrap(),
        "say/say: not applicable, it speaks to an agent, and the target is an MCP server"
    );
    let lines = planned(&both, &Offer::default(), TargetKind::Cmd, &Values::new());
    assert_eq!(
        lines,
        [
            "paths/parent-folders: not applicable, it calls the tools of an MCP server, and the target is `cmd`",
            "say/say: say hello",
        ]
    );
}

#[test]
fn what_a_server_calls_its_tools_cannot_confuse_ids() {
    let odd: Value = json!({"path": {"type": "string"}});
    let offer = offer(&[("../x", odd.clone()), ("same", odd.clone()), ("same", odd)]);
    let lines = planned(&[("mcp", "paths", PATHS)], &offer, TargetKind::Mcp, &Values::new());
    let ids: Vec<_> = lines.iter().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(
        ids,
        ["paths/parent-folders/%2E.%2Fx", "paths/parent-folders/same", "paths/parent-folders/same-2"]
    );
}

#[test]
fn a_server_cannot_make_a_plan_of_any_size() {
    let many: serde_json::Map<_, _> =
        (0..200).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    let tools: Vec<_> = (0..260).map(|at| (format!("t{at}"), Value::Object(many.clone()))).collect();
    let tools: Vec<_> = tools.iter().map(|(name, properties)| (name.as_str(), properties.clone())).collect();
    let rest = "patterns:\n  - {name: Text, template: hello}\n";
    let catalogue = catalogue(&[("mcp", "text", rest)]);
    let error = plan(&entries(&catalogue), &offer(&tools), TargetKind::Mcp, &Values::new(), Missing::Skip)
        .unwrap_err();
    assert!(error.to_string().contains("more than 50000 cases"), "{error}");
}

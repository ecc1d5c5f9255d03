//! What indicators in the wild look for, and what becomes of it.

use super::*;
use crate::bindings::registry::BINDINGS;

const REQUEST: Option<Side> = Some(Side::Request);
const RESPONSE: Option<Side> = Some(Side::Response);

/// `protocol surface|-`, as the cases below abbreviate it.
fn ask(place: &str, side: Option<Side>, modes: &[&str], target: &str) -> Reachability {
    let (protocol, surface) = place.split_once(' ').expect("protocol and surface");
    reachability(protocol, Some(surface).filter(|surface| *surface != "-"), side, modes, target)
}

#[track_caller]
fn possible(place: &str, side: Option<Side>, targets: &[&str]) {
    for target in targets {
        assert_eq!(ask(place, side, &[], target), Reachability::Possible, "{place} {target}");
    }
}

#[track_caller]
fn never(place: &str, side: Option<Side>, target: &str, reason: &str, nearest: Option<&str>) {
    let modes = ["mcp_server", "a2a_server", "ag_ui_client"];
    match ask(place, side, &modes, target) {
        Reachability::Never { reason: why, nearest: found } => {
            assert_eq!(why.to_string(), reason, "{place} {target}");
            assert_eq!(found.as_ref().map(|n| n.path.as_str()), nearest, "{place} {target}");
        }
        other => panic!("{place} {target}: {other:?}"),
    }
}

#[test]
fn what_the_specifications_define_is_possible() {
    possible(
        "mcp tools/list",
        RESPONSE,
        &["tools[*].name", "tools[*].inputSchema.properties.path.description", "tools[*].icons[*].src"],
    );
    possible("mcp tools/call", REQUEST, &["name", "arguments", "arguments.to[*].x", "_meta.progressToken"]);
    possible(
        "mcp tools/call",
        RESPONSE,
        &["content[*].text", "content[*].resource.text", "isError", "content"],
    );
    possible("mcp sampling/createMessage", RESPONSE, &["content.text", "content[*].input.cmd", "model"]);
    possible("mcp prompts/get", RESPONSE, &["messages[*].content.text"]);
    possible("mcp elicitation/create", RESPONSE, &["action", "content.password"]);
    possible(
        "mcp initialize",
        None,
        &["instructions", "serverInfo.name", "clientInfo.name", "capabilities.tasks"],
    );
    possible("a2a message/send", REQUEST, &["message.parts[*].text", "message.parts[*].data.any.thing"]);
    possible("a2a message/send", RESPONSE, &["status.message.parts[*].text", "parts[*].file.uri", "kind"]);
    possible("a2a message/stream", RESPONSE, &["artifact.parts[*].text", "artifacts[*].name", "final"]);
    possible("a2a agent_card/get", RESPONSE, &["skills[*].description", "securitySchemes.any.flows"]);
    possible("a2a tasks/pushNotificationConfig/list", RESPONSE, &["[*].pushNotificationConfig.url"]);
    possible("ag_ui run_agent_input", REQUEST, &["messages[*].content", "state.admin", "context[*].value"]);
    possible(
        "ag_ui -",
        RESPONSE,
        &["_text", "_arguments.to", "toolCallName", "snapshot.x", "delta", "delta[*].op"],
    );
}

#[test]
fn what_completes_a_question_of_a_client_carries_the_conversation() {
    possible(
        "mcp tools/call",
        RESPONSE,
        &["_transcript", "_transcript.answers[*]", "_transcript.turns[*].text"],
    );
    possible("mcp tools/list", RESPONSE, &["_transcript.tools", "_transcript.server.instructions"]);
    possible("ag_ui run_finished", RESPONSE, &["_transcript.calls[*].arguments.to"]);
    let no_field = "no message has a field `_transcript`";
    never("mcp tools/call", RESPONSE, "_transcript", no_field, None);
    never("ag_ui run_finished", RESPONSE, "_transcript.answer", no_field, None);
    let elsewhere = "`run_finished` has it, this operation does not";
    never("ag_ui text_message_end", RESPONSE, "_transcript.answers[*]", elsewhere, None);
}

#[test]
fn a_response_may_be_an_error() {
    possible("mcp tools/call", RESPONSE, &["code", "message", "data.elicitations[*].url"]);
    possible("a2a message/send", RESPONSE, &["code", "message", "data"]);
    never("mcp tools/call", REQUEST, "code", "only the response of `tools/call` has it", None);
}

#[test]
fn the_whole_message_is_always_possible() {
    possible("mcp -", None, &[""]);
    possible("mcp notifications/initialized", RESPONSE, &[""]);
    possible("pigeon coo", None, &[""]);
}

#[test]
fn what_is_unknown_is_not_judged() {
    assert_eq!(ask("pigeon coo", None, &[], "wing"), Reachability::Unknown);
    assert_eq!(ask("mcp no/such", None, &[], "wing"), Reachability::Unknown);
    assert_eq!(ask("mcp tools/list", None, &[], "tools[0].name"), Reachability::Unknown);
}

#[test]
fn wrapping_is_taken_off() {
    let nobody = |key| format!("no message has a field `{key}`");
    never("mcp -", RESPONSE, "response.content", &nobody("response"), Some("content[*].text"));
    never("mcp tools/call", RESPONSE, "result.content[*].text", &nobody("result"), Some("content[*].text"));
    never("mcp tools/call", REQUEST, "params.arguments", &nobody("params"), Some("arguments"));
    never("mcp -", REQUEST, "request.params.arguments.to", &nobody("request"), Some("arguments.to"));
    never("mcp -", None, "params", &nobody("params"), Some(""));
    never("a2a -", REQUEST, "a2a.task.message", &nobody("a2a"), Some("message.parts[*].text"));
    never("a2a -", RESPONSE, "response.content", &nobody("response"), Some("artifacts[*].parts[*].text"));
    never(
        "a2a message/send",
        RESPONSE,
        "task.status.message.parts[*].text",
        &nobody("task"),
        Some("status.message.parts[*].text"),
    );
    never("a2a -", None, "body", &nobody("body"), Some(""));
    never("ag_ui -", RESPONSE, "response.content", &nobody("response"), Some("_text"));
    never("ag_ui tool_call_start", None, "data.toolCallName", &nobody("data"), Some("toolCallName"));
}

#[test]
fn wildcards_are_put_where_the_lists_are() {
    never(
        "mcp tools/call",
        RESPONSE,
        "content.text",
        "`content` is a list, its elements are `content[*]`",
        Some("content[*].text"),
    );
    never(
        "mcp tools/list",
        RESPONSE,
        "tools[*].name[*]",
        "`tools[*].name` is not a list",
        Some("tools[*].name"),
    );
    never(
        "mcp prompts/get",
        RESPONSE,
        "messages[*].content[*].text",
        "`messages[*].content` is not a list",
        Some("messages[*].content.text"),
    );
    never("mcp initialize", REQUEST, "protocolVersion.x", "`protocolVersion` has no fields", None);
}

#[test]
fn slips_and_missing_levels_are_seen() {
    never(
        "mcp tools/list",
        RESPONSE,
        "tools[*].input_schema.properties.cmd",
        "`tools[*]` has no field `input_schema`",
        Some("tools[*].inputSchema.properties.cmd"),
    );
    never(
        "mcp tools/list",
        None,
        "description",
        "`prompts/get` has it, this operation does not",
        Some("tools[*].description"),
    );
    never(
        "a2a message/send",
        REQUEST,
        "parts[*].text",
        "only the response of `message/send` has it",
        Some("message.parts[*].text"),
    );
    never("ag_ui -", None, "arguments", "no message has a field `arguments`", Some("_arguments"));
    never("a2a -", REQUEST, "arguments", "no message has a field `arguments`", None);
}

#[test]
fn a_path_that_exists_elsewhere_says_where() {
    never(
        "mcp tools/list",
        RESPONSE,
        "contents[*].blob",
        "`resources/read` has it, this operation does not",
        None,
    );
    never("a2a -", REQUEST, "skills[*].name", "only the response of `agent_card/get` has it", None);
    never(
        "mcp notifications/initialized",
        RESPONSE,
        "reason",
        "`notifications/initialized` has no response",
        None,
    );
}

#[test]
fn only_clients_see_the_request_in_its_response() {
    let ask = |modes: &[&str], target| ask("mcp tools/call", RESPONSE, modes, target);
    for modes in [&["mcp_client"] as &[_], &["mcp_server", "mcp_client"], &[], &["a2a_server"]] {
        assert_eq!(ask(modes, "_request.arguments.cmd"), Reachability::Possible, "{modes:?}");
    }
    assert!(matches!(ask(&["mcp_server"], "_request.arguments"), Reachability::Never { .. }));
    assert!(matches!(ask(&["mcp_client"], "_request.params"), Reachability::Never { .. }));
    possible("a2a task/status", RESPONSE, &["_request.message.parts[*].text"]);
    possible("a2a tasks/pushNotificationConfig/list", RESPONSE, &["_result[*].taskId"]);
}

#[test]
fn the_missing_key_can_be_looked_up_in_the_document() {
    let Reachability::Never { reason, .. } = ask("mcp tools/list", RESPONSE, &[], "tools[*].x_hidden.y")
    else {
        panic!("no tool has such a field")
    };
    assert_eq!(reason.missing_key(), Some("x_hidden"));
}

#[test]
fn every_suggestion_is_a_path_that_resolves() {
    let targets =
        ["response.content", "params.name", "tool.description", "message.text", "parts.text", "data.delta"];
    for binding in BINDINGS {
        for side in [REQUEST, RESPONSE, None] {
            for target in targets {
                if let Reachability::Never { nearest: Some(nearest), .. } =
                    reachability(binding.protocol, None, side, &[], target)
                {
                    let side = Some(nearest.side);
                    let again =
                        reachability(binding.protocol, Some(nearest.surface), side, &[], &nearest.path);
                    assert_eq!(again, Reachability::Possible, "{target}: {nearest:?}");
                }
            }
        }
    }
}

#[test]
fn hostile_targets_cost_little() {
    for target in
        ["params.".repeat(50_000) + "x", "x".repeat(500_000), "a[*]".to_owned() + &"[*]".repeat(50_000)]
    {
        assert!(matches!(ask("mcp -", None, &[], &target), Reachability::Never { nearest: None, .. }));
    }
}

use std::collections::HashMap;

use serde_json::Value;
use sortie_oatf::model::Mode;
use sortie_oatf::rules::{ActorState, RuleReport};
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use super::Rule;
use super::state::items;

/// A state can be served as it is meant.
pub(super) const L_018: Rule = Rule {
    code: "L-018",
    spec: "§7",
    title: "a state can be served as it is meant",
    severity: Warning,
    explain: include_str!("l018.md"),
    check: Some(|document, report| {
        for state in document.states() {
            if !state.value.is_object() {
                continue; // an error of its own
            }
            match state.mode.map(Mode::of) {
                Some(Mode::McpServer) => mcp_server(&state, report),
                Some(Mode::McpClient | Mode::A2aClient) => actions(&state, report),
                Some(Mode::AgUiClient) => run_agent_input(&state, report),
                _ => {}
            }
        }
    }),
};

fn mcp_server(state: &ActorState<'_>, report: &mut RuleReport<'_>) {
    for (list, key, what) in [
        ("tools", "name", "tool"),
        ("prompts", "name", "prompt"),
        ("resources", "uri", "resource"),
        ("resource_templates", "uriTemplate", "resource template"),
    ] {
        is_list(state, list, report);
        named_once(state, list, key, what, report);
    }
    for (tool, path) in items(state.value, &state.path, "tools") {
        if let (Some(name), None) = (tool.get("name").and_then(Value::as_str), tool.get("inputSchema")) {
            report
                .add(&L_018, path.key("name"), format!("the tool `{name}` has no `inputSchema`"))
                .label("MCP needs one for every tool")
                .help(
                    "clients that check what they are sent refuse the whole list; `{type: object}` is enough",
                );
        }
    }
    is_list(state, "elicitations", report);
    for (elicitation, path) in items(state.value, &state.path, "elicitations") {
        let is_url = elicitation.get("mode").and_then(Value::as_str) == Some("url");
        if elicitation.is_object() && elicitation.get("message").is_none() {
            report
                .add(&L_018, path.clone(), "an elicitation needs a `message`")
                .help("it is what the user is asked");
        }
        if is_url && elicitation.get("url").is_none() {
            report
                .add(&L_018, path.key("mode"), "an elicitation of mode `url` needs a `url`")
                .help("say where the user is to be sent");
        }
    }
}

/// Lists whose elements a runner finds by name.
fn named_once(state: &ActorState<'_>, list: &str, key: &str, what: &str, report: &mut RuleReport<'_>) {
    let mut first_seen: HashMap<&str, NodePath> = HashMap::new();
    for (item, path) in items(state.value, &state.path, list) {
        let Some(name) = item.get(key).and_then(Value::as_str) else {
            report
                .add(&L_018, path, format!("a {what} needs `{key}`, or nothing can be done with it"))
                .label(format!("no `{key}` here"))
                .help(format!("requests name the {what} they are for, and answers are chosen by that"));
            continue;
        };
        let at = path.key(key);
        if let Some(first) = first_seen.get(name) {
            report
                .add(&L_018, at, format!("two {what}s of one state are called `{name}`"))
                .label("never answers")
                .also(first, "the first is the one that answers")
                .help("give it another name; what changes over time belongs in a phase of its own");
        } else {
            first_seen.insert(name, at);
        }
    }
}

fn actions(state: &ActorState<'_>, report: &mut RuleReport<'_>) {
    is_list(state, "actions", report);
    for (action, path) in items(state.value, &state.path, "actions") {
        match action.get("method").and_then(Value::as_str) {
            None => {
                report
                    .add(&L_018, path, "an action needs a `method`")
                    .label("no `method` here")
                    .help("for example `method: tools/call`, with `params` beside it");
            }
            Some("initialize") if state.mode.map(Mode::of) == Some(Mode::McpClient) => {
                report
                    .add(&L_018, path.key("method"), "the runner itself sends `initialize`")
                    .help("leave it out; set `client_info` and `capabilities` to change what it says");
            }
            Some(_) => {}
        }
    }
}

fn run_agent_input(state: &ActorState<'_>, report: &mut RuleReport<'_>) {
    let Some(input) = state.value.get("run_agent_input") else {
        report
            .add(&L_018, state.path.clone(), "this state has no `run_agent_input`, so nothing is sent")
            .help("it is the body of the request: `threadId`, `runId` and `messages`");
        return;
    };
    let missing: Vec<_> = ["threadId", "runId"]
        .into_iter()
        .filter(|key| input.get(key).is_none())
        .map(|key| format!("`{key}`"))
        .collect();
    if !missing.is_empty() {
        report
            .add(
                &L_018,
                state.path.clone().key("run_agent_input"),
                format!("`run_agent_input` needs {}", missing.join(" and ")),
            )
            .label("an agent cannot tell its runs apart without")
            .help("any text does, such as `threadId: thread-1` and `runId: run-1`");
    }
}

fn is_list(state: &ActorState<'_>, key: &str, report: &mut RuleReport<'_>) {
    if state.value.get(key).is_some_and(|value| !value.is_array()) {
        report
            .add(&L_018, state.path.clone().key(key), format!("`{key}` must be a list"))
            .help("write `[]` for an empty one");
    }
}

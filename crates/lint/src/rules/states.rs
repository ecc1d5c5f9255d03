//! What a state serves.

use std::collections::HashMap;

use serde_json::Value;
use sortie_bindings::{DispatchList, dispatch_lists, known_modes, nearest_structural_key, structural_keys};
use sortie_oatf::model::{Document, Mode};
use sortie_oatf::rules::{PlacedState, RuleReport, edits};
use sortie_syntax::yaml::{NodeKind, Style};
use sortie_syntax::{Edit, NodePath, nearest};

use super::Rule;

/// The elements of the list under a key, with their paths; none when there is no such list.
pub(super) fn items<'v>(
    holder: &'v Value,
    path: &NodePath,
    key: &str,
) -> impl Iterator<Item = (&'v Value, NodePath)> + use<'v> {
    let list = holder.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let path = path.clone().key(key);
    list.iter().enumerate().map(move |(index, item)| (item, path.clone().index(index)))
}

/// The response lists that the mode of a state has, and what holds each of them.
pub(super) fn response_lists<'v>(
    state: &PlacedState<'v>,
) -> Vec<(&'static DispatchList, &'v Value, NodePath)> {
    let lists = state.mode.and_then(dispatch_lists).unwrap_or_default().iter();
    let holders = lists.flat_map(|list| match list.within {
        Some(key) => items(state.value, &state.path, key).map(|(item, path)| (list, item, path)).collect(),
        None => vec![(list, state.value, state.path.clone())],
    });
    holders.collect()
}

/// Whether something that actors of this protocol send has this key.
pub(super) fn sends_key(document: &Document, protocol: &str, key: &str) -> bool {
    document.states().iter().any(|state| {
        let mode = state.mode.filter(|mode| Mode::protocol(mode) == Some(protocol));
        let Some(sent) = mode.and_then(structural_keys) else { return false };
        sent.iter()
            .filter_map(|sent| state.value.get(sent))
            .any(|value| has(value, &|found, _| found == Some(key)))
    })
}

/// Whether a key or a text somewhere in a value is what is looked for.
// Recursion is bounded by the depth of documents.
pub(super) fn has(value: &Value, is_it: &dyn Fn(Option<&str>, Option<&str>) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(None, Some(text)),
        Value::Array(items) => items.iter().any(|item| has(item, is_it)),
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| is_it(Some(key), None) || has(value, is_it))
        }
        _ => false,
    }
}

pub(super) const L_013: Rule = Rule::warning("L-013", "§7", include_str!("l013.md"))
    .titled("a state has the keys of its mode")
    .check(Some(|document, report| {
        for state in document.states() {
            let Some(mode) = state.mode else { continue };
            let (Some(known), Some(fields)) = (structural_keys(mode), state.value.as_object()) else {
                continue;
            };
            for key in fields.keys() {
                if !known.contains(&key.as_str()) && !key.starts_with("x-") {
                    unknown_key(&state, mode, key, report);
                }
            }
            for (list, holder, path) in response_lists(&state) {
                for (entry, path) in items(holder, &path, list.key) {
                    entry_keys(document, entry, &path, report);
                }
            }
        }
    }));

fn unknown_key(state: &PlacedState<'_>, mode: &str, key: &str, report: &mut RuleReport<'_>) {
    let finding = report
        .add(state.path.clone().key(key), format!("a state of `{mode}` has no key `{key}`, so it is ignored"))
        .at_key();
    if let Some(meant) = nearest_structural_key(mode, key) {
        finding.suggest_key("write", meant);
        return;
    }
    let owners: Vec<_> = known_modes()
        .iter()
        .filter(|mode| structural_keys(mode).is_some_and(|keys| keys.contains(&key)))
        .map(|mode| format!("`{mode}`"))
        .collect();
    let finding = finding.label("nothing reads this");
    if owners.is_empty() && Mode::of(mode) == Mode::McpServer && key.starts_with("sampling") {
        finding.help(
            "OATF has no key for what a server asks; here it goes on the response entry that it belongs to: \
             `x-sortie: {during: [{send: {method: sampling/createMessage, params: ...}}]}`",
        );
    } else if owners.is_empty() {
        let keys: Vec<_> =
            structural_keys(mode).into_iter().flatten().map(|key| format!("`{key}`")).collect();
        finding.help(format!("its keys are {}; custom keys start with `x-`", keys.join(", ")));
    } else {
        finding.help(format!("it is a key of {}", owners.join(" and ")));
    }
}

/// The keys of an entry in a response list, in any mode.
const ENTRY: &[&str] = &["when", "content", "synthesize", "messages", "action", "description"];

fn entry_keys(document: &Document, entry: &Value, path: &NodePath, report: &mut RuleReport<'_>) {
    for key in entry.as_object().into_iter().flat_map(|entry| entry.keys()) {
        if ENTRY.contains(&key.as_str()) || key.starts_with("x-") {
            continue;
        }
        let path = path.clone().key(key);
        let message = format!("an entry of a response list has no key `{key}`, so it is ignored");
        let finding = report.add(path.clone(), message).at_key();
        let meant = nearest(key, ENTRY.iter().copied());
        match meant.map(|meant| (meant, edits::rename_key(document, &path, meant))) {
            Some((meant, edits)) if !edits.is_empty() => finding.suggest_key("write", meant),
            _ => finding.label("nothing reads this").help("the whole answer is in `content`"),
        };
    }
}

pub(super) const L_018: Rule = Rule::warning("L-018", "§7", include_str!("l018.md"))
    .titled("a state has the fields that a runner needs")
    .check(Some(|document, report| {
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
    }));

fn mcp_server(state: &PlacedState<'_>, report: &mut RuleReport<'_>) {
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
                .add(path.key("name"), format!("the tool `{name}` has no `inputSchema`"))
                .label("MCP needs one for every tool")
                .help("clients that validate messages reject the whole list; `{type: object}` is enough");
        }
    }
    is_list(state, "elicitations", report);
    for (elicitation, path) in items(state.value, &state.path, "elicitations") {
        let is_url = elicitation.get("mode").and_then(Value::as_str) == Some("url");
        if elicitation.is_object() && elicitation.get("message").is_none() {
            report
                .add(path.clone(), "an elicitation needs a `message`")
                .help("it is the question for the user");
        }
        if is_url && elicitation.get("url").is_none() {
            report
                .add(path.key("mode"), "an elicitation of mode `url` needs a `url`")
                .help("add the address for the user");
        }
    }
}

/// Lists whose elements a runner finds by name.
fn named_once(state: &PlacedState<'_>, list: &str, key: &str, what: &str, report: &mut RuleReport<'_>) {
    let mut first_seen: HashMap<&str, NodePath> = HashMap::new();
    for (item, path) in items(state.value, &state.path, list) {
        let Some(name) = item.get(key).and_then(Value::as_str) else {
            report
                .add(path, format!("a {what} needs `{key}`, or it cannot be used"))
                .label(format!("no `{key}` here"))
                .help(format!("requests name the {what}, and the answer is chosen by that name"));
            continue;
        };
        let at = path.key(key);
        if let Some(first) = first_seen.get(name) {
            report
                .add(at, format!("two {what}s of one state are called `{name}`"))
                .label("never answers")
                .also(first, "only the first one answers")
                .help("give it another name; for a change over time, use a second phase");
        } else {
            first_seen.insert(name, at);
        }
    }
}

fn actions(state: &PlacedState<'_>, report: &mut RuleReport<'_>) {
    is_list(state, "actions", report);
    for (action, path) in items(state.value, &state.path, "actions") {
        match action.get("method").and_then(Value::as_str) {
            None => {
                report
                    .add(path, "an action needs a `method`")
                    .label("no `method` here")
                    .help("for example `method: tools/call`, with `params` beside it");
            }
            Some("initialize") if state.mode.map(Mode::of) == Some(Mode::McpClient) => {
                report
                    .add(path.key("method"), "the runner itself sends `initialize`")
                    .help("leave it out; set `client_info` and `capabilities` to change its content");
            }
            Some(_) => {}
        }
    }
}

fn run_agent_input(state: &PlacedState<'_>, report: &mut RuleReport<'_>) {
    let Some(input) = state.value.get("run_agent_input") else {
        report
            .add(state.path.clone(), "this state has no `run_agent_input`, so nothing is sent")
            .help("it is the body of the request: `threadId`, `runId` and `messages`");
        return;
    };
    let missing: Vec<_> = ["threadId", "runId"]
        .into_iter()
        .filter(|key| input.get(key).is_none())
        .map(|key| format!("`{key}`"))
        .collect();
    if !missing.is_empty() {
        let path = state.path.clone().key("run_agent_input");
        report
            .add(path, format!("`run_agent_input` needs {}", missing.join(" and ")))
            .label("agents identify runs by these")
            .help("any text does, such as `threadId: thread-1` and `runId: run-1`");
    }
}

fn is_list(state: &PlacedState<'_>, key: &str, report: &mut RuleReport<'_>) {
    if state.value.get(key).is_some_and(|value| !value.is_array()) {
        report
            .add(state.path.clone().key(key), format!("`{key}` must be a list"))
            .help("write `[]` for an empty one");
    }
}

pub(super) const L_020: Rule = Rule::warning("L-020", "§7.2.4", include_str!("l020.md"))
    .titled("an A2A response is a task or a message")
    .check(Some(|document, report| {
        for state in
            document.states().into_iter().filter(|state| state.mode.map(Mode::of) == Some(Mode::A2aServer))
        {
            for (entry, path) in items(state.value, &state.path, "task_responses") {
                let path = path.key("content");
                let Some(content) = entry.get("content") else { continue };
                if let Some(Value::String(word)) = content.get("status") {
                    let at = path.clone().key("status");
                    let finding = report
                        .add(at.clone(), "the `status` of a task is a mapping; clients reject a text")
                        .label("a text");
                    if content.get("message").is_some() {
                        let said = path.clone().key("message");
                        finding
                            .also(&said, "this belongs to the status")
                            .help(format!("write `status: {{state: {word}, message: ...}}`"));
                    } else {
                        let written = document.tree().and_then(|tree| {
                            let node = tree.node(tree.find(&at)?.0);
                            let NodeKind::Scalar(_, style) = node.kind else { return None };
                            let replacement = format!("{{state: {}}}", tree.source().slice(node.span));
                            let is_line = !matches!(style, Style::Literal | Style::Folded);
                            is_line.then_some(Edit { span: node.span, replacement })
                        });
                        finding
                            .help(format!("write `status: {{state: {word}}}`"))
                            .fix("make the status a mapping", written.into_iter().collect());
                    }
                }
                for (artifact, path) in items(content, &path, "artifacts") {
                    if artifact.is_object() && artifact.get("parts").is_none() {
                        report
                            .add(path, "an artifact has its content in `parts`; clients reject an artifact without them")
                            .label("no `parts` here")
                            .help("for example `parts: [{kind: text, text: ...}]`, and an `artifactId`");
                    }
                }
            }
        }
    }));

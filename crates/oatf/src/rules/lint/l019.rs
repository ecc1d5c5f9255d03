use super::edits;
use crate::bindings::{is_known_surface, nearest_surface};
use crate::diagnostic::DiagnosticSeverity::Warning;
use crate::model::{Document, Phase};
use crate::node_path::NodePath;
use crate::rules::walk::protocol_of;
use crate::rules::{Family, Report, Rule};
use crate::suggest::nearest;
use serde_json::Value;

/// `x-sortie` says something we understand.
pub(crate) const L_019: Rule = Rule {
    code: "L-019",
    spec: "",
    title: "`x-sortie` says something that is understood",
    severity: Warning,
    family: Family::Lint,
    explain: include_str!("l019.md"),
    check: Some(|document, report| {
        let Some(extension) = document.attack.extensions.get("x-sortie") else { return };
        let path = NodePath::root().key("attack").key("x-sortie");
        let Some(fields) = extension.as_object() else {
            report.add(&L_019, path, "`x-sortie` must be a mapping").help(
                "it has `prompt`, a task for the agent, `delivered`, what it must have been served, and `needs`, what a server must offer",
            );
            return;
        };
        for (key, value) in fields {
            let path = path.clone().key(key);
            match key.as_str() {
                "prompt" => {
                    if value.as_str().is_none_or(|prompt| prompt.trim().is_empty()) {
                        report
                            .add(&L_019, path, "`prompt` must be a text")
                            .help("it is the task that the agent is given before the attack begins");
                    }
                }
                "delivered" => delivered(document, value, &path, report),
                "needs" => needs(document, value, &path, report),
                _ => unknown(document, &path, key, &["prompt", "delivered", "needs"], report),
            }
        }
    }),
};

fn delivered(document: &Document, value: &Value, path: &NodePath, report: &mut Report<'_>) {
    let Some(entries) = value.as_array().filter(|entries| !entries.is_empty()) else {
        report
            .add(&L_019, path.clone(), "`delivered` must be a list with at least one entry")
            .help("for example `- {actor: default, surface: tools/list}`");
        return;
    };
    for (index, entry) in entries.iter().enumerate() {
        let path = path.clone().index(index);
        let Some(fields) = entry.as_object() else {
            report
                .add(&L_019, path, "an entry of `delivered` must be a mapping")
                .help("it has `actor`, `surface`, and `phase` and `contains` where they matter");
            continue;
        };
        for key in fields.keys().filter(|key| !ENTRY.contains(&key.as_str())) {
            unknown(document, &path.clone().key(key), key, ENTRY, report);
        }
        let Some(actor) = text(fields.get("actor"), &path, "actor", Some("delivered"), report) else {
            continue;
        };
        let Some(actor) = find_actor(document, actor, UNDELIVERED, &path, report) else { continue };
        if let Some(phase) = text(fields.get("phase"), &path, "phase", None, report) {
            let names: Vec<_> =
                actor.phases.iter().enumerate().map(|(index, phase)| name(index, phase)).collect();
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            does_not_exist(
                document,
                &path.clone().key("phase"),
                ("phase", phase, UNDELIVERED),
                &known,
                report,
            );
        }
        if let Some(surface) = text(fields.get("surface"), &path, "surface", Some("delivered"), report) {
            is_surface(document, &path.clone().key("surface"), surface, actor.mode, report);
        }
        if let Some(words) = text(fields.get("contains"), &path, "contains", None, report) {
            is_said(&path.key("contains"), words, &actor, report);
        }
    }
}

fn needs(document: &Document, value: &Value, path: &NodePath, report: &mut Report<'_>) {
    const EXAMPLE: &str = "for example `- {actor: default, tools: [read_file]}`";
    let Some(entries) = value.as_array().filter(|entries| !entries.is_empty()) else {
        report.add(&L_019, path.clone(), "`needs` must be a list with at least one entry").help(EXAMPLE);
        return;
    };
    for (index, entry) in entries.iter().enumerate() {
        let path = path.clone().index(index);
        let Some(fields) = entry.as_object() else {
            report.add(&L_019, path, "an entry of `needs` must be a mapping").help(EXAMPLE);
            continue;
        };
        for key in fields.keys().filter(|key| !NEED.contains(&key.as_str())) {
            unknown(document, &path.clone().key(key), key, NEED, report);
        }
        let tools = fields.get("tools").and_then(Value::as_array);
        if tools.is_none_or(|tools| tools.is_empty() || !tools.iter().all(Value::is_string)) {
            report
                .add(&L_019, path.clone(), "an entry of `needs` needs `tools`, a list of names")
                .help(EXAMPLE);
        }
        let Some(actor) = text(fields.get("actor"), &path, "actor", Some("needs"), report) else { continue };
        let Some(actor) = find_actor(document, actor, "nothing is needed", &path, report) else { continue };
        if actor.mode.is_some_and(|mode| mode != "mcp_client") {
            report
                .add(
                    &L_019,
                    path.key("actor"),
                    "this actor attacks no MCP server, so it needs no tools of one",
                )
                .help("name an actor of mode `mcp_client`");
        }
    }
}

const NEED: &[&str] = &["actor", "tools"];

/// What comes of a name that nothing has.
const UNDELIVERED: &str = "this is never delivered";

const ENTRY: &[&str] = &["actor", "phase", "surface", "contains"];

/// As much of an actor as an entry can refer to.
struct Actor<'d> {
    mode: Option<&'d str>,
    phases: &'d [Phase],
    /// The state of the single-phase form.
    state: Option<&'d Value>,
}

fn find_actor<'d>(
    document: &'d Document,
    wanted: &str,
    so: &str,
    path: &NodePath,
    report: &mut Report<'_>,
) -> Option<Actor<'d>> {
    let execution = &document.attack.execution;
    let known: Vec<&str> = match &execution.actors {
        Some(actors) => actors.iter().map(|actor| actor.name.as_str()).collect(),
        None => vec!["default"],
    };
    if does_not_exist(document, &path.clone().key("actor"), ("actor", wanted, so), &known, report) {
        return None;
    }
    let actor = execution.actors.iter().flatten().find(|actor| actor.name == wanted);
    Some(match actor {
        Some(actor) => Actor { mode: Some(&actor.mode), phases: &actor.phases, state: None },
        None => Actor {
            mode: document.modes().first().copied(),
            phases: execution.phases.as_deref().unwrap_or_default(),
            state: execution.state.as_ref(),
        },
    })
}

/// The name of a phase, given or not; the single-phase form has one that is called `phase-1`.
fn name(index: usize, phase: &Phase) -> String {
    phase.name.clone().unwrap_or_else(|| format!("phase-{}", index + 1))
}

/// Reports a name that nothing has; says whether it did.
fn does_not_exist(
    document: &Document,
    path: &NodePath,
    (what, wanted, so): (&str, &str, &str),
    known: &[&str],
    report: &mut Report<'_>,
) -> bool {
    if known.contains(&wanted) || (what == "phase" && known.is_empty() && wanted == "phase-1") {
        return false;
    }
    let finding = report.add(&L_019, path.clone(), format!("there is no {what} `{wanted}`, so {so}"));
    match nearest(wanted, known.iter().copied()) {
        Some(meant) => {
            let edits = edits::replace_scalar(document, path, meant);
            finding.label(format!("did you mean `{meant}`?")).fix(format!("write `{meant}`"), edits);
        }
        None if what == "actor" && known == ["default"] => {
            finding.help("the only actor of this form is called `default`");
        }
        None => {
            let known: Vec<_> = known.iter().take(8).map(|name| format!("`{name}`")).collect();
            finding.help(format!("this document has {}", known.join(", ")));
        }
    }
    true
}

fn is_surface(
    document: &Document,
    path: &NodePath,
    surface: &str,
    mode: Option<&str>,
    report: &mut Report<'_>,
) {
    let Some(protocol) = mode.and_then(protocol_of) else { return };
    if is_known_surface(protocol, surface) != Some(false) {
        return;
    }
    let finding = report.add(
        &L_019,
        path.clone(),
        format!("`{protocol}` has no operation `{surface}`, so this is never delivered"),
    );
    match nearest_surface(protocol, surface) {
        Some(meant) => {
            let edits = edits::replace_scalar(document, path, meant);
            finding.label(format!("did you mean `{meant}`?")).fix(format!("write `{meant}`"), edits);
        }
        None => {
            finding.help("name the operation by which the agent is served, such as `tools/list`");
        }
    }
}

/// Reports words that an actor never says, as far as that can be known: what is sent on entering a phase, and what a model
/// writes, is not looked at.
fn is_said(path: &NodePath, words: &str, actor: &Actor<'_>, report: &mut Report<'_>) {
    if words.trim().is_empty() {
        report.add(&L_019, path.clone(), "`contains` must have words in it").help("leave it out for any");
        return;
    }
    let states = || actor.phases.iter().filter_map(|phase| phase.state.as_ref()).chain(actor.state);
    let unknown = actor.phases.iter().any(|phase| phase.on_enter.is_some())
        || states().any(|state| has(state, &|key, _| key == Some("synthesize")));
    if !unknown && !states().any(|state| has(state, &|_, text| text.is_some_and(|text| text.contains(words))))
    {
        report
            .add(&L_019, path.clone(), "the actor never says this, so this is never delivered")
            .help("take words that stand in one text of its `state`, without anything that is filled in");
    }
}

/// Whether a key or a text somewhere in a value is what is looked for.
fn has(value: &Value, is_it: &dyn Fn(Option<&str>, Option<&str>) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(None, Some(text)),
        Value::Array(items) => items.iter().any(|item| has(item, is_it)),
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| is_it(Some(key), None) || has(value, is_it))
        }
        _ => false,
    }
}

/// A text field of an entry; reports one that is missing or something else.
fn text<'v>(
    value: Option<&'v Value>,
    path: &NodePath,
    key: &str,
    required_by: Option<&str>,
    report: &mut Report<'_>,
) -> Option<&'v str> {
    match value {
        Some(value) if value.is_string() => value.as_str(),
        Some(_) => {
            report
                .add(&L_019, path.clone().key(key), format!("`{key}` must be a text"))
                .help("put it in quotes");
            None
        }
        None => {
            let list = required_by?;
            let example = if list == "needs" { "tools: [read_file]" } else { "surface: tools/list" };
            report
                .add(&L_019, path.clone(), format!("an entry of `{list}` needs `{key}`"))
                .help(format!("for example `{{actor: default, {example}}}`"));
            None
        }
    }
}

fn unknown(document: &Document, path: &NodePath, key: &str, known: &[&str], report: &mut Report<'_>) {
    let finding = report.add(&L_019, path.clone(), format!("`{key}` means nothing here")).at_key();
    if let Some(meant) = nearest(key, known.iter().copied()) {
        let edits = edits::rename_key(document, path, meant);
        finding.label(format!("did you mean `{meant}`?")).fix(format!("write `{meant}`"), edits);
    } else {
        let known: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
        finding.help(format!("the keys are {}", known.join(", ")));
    }
}

//! Response lists, and what has to be delivered.

use std::collections::HashMap;

use serde_json::{Map, Value};
use sortie_bindings::{DispatchList, Reachability, is_known_surface, nearest_surface, reachability};
use sortie_expr::json::sorted_text;
use sortie_expr::path::SimplePath;
use sortie_oatf::extension::wrap::wrap_name;
use sortie_oatf::extension::{Extension, KEY};
use sortie_oatf::model::{Condition, Mode, Phase};
use sortie_oatf::rules::RuleReport;
use sortie_syntax::NodePath;

use super::Rule;
use super::operations::placed_operations;
use super::scope::{side_of_event, wants_absence};
use super::states::{has, items, response_lists};

pub(super) const L_019: Rule = Rule::warning("L-019", "", include_str!("l019.md"))
    .titled("everything in `x-sortie.delivered` can be delivered")
    .check(Some(|document, report| {
        let (extension, errors) = Extension::read(&document.attack);
        if !errors.is_empty() {
            return;
        }
        for (index, wanted) in extension.delivered.iter().enumerate() {
            let path = NodePath::root().key("attack").key(KEY).key("delivered").index(index);
            let execution = &document.attack.execution;
            let actor = execution.actors.iter().flatten().find(|actor| actor.name == wanted.actor);
            let (mode, phases, state) = match actor {
                Some(actor) => (Some(actor.mode.as_str()), actor.phases.as_slice(), None),
                None => (
                    document.modes().first().copied(),
                    execution.phases.as_deref().unwrap_or_default(),
                    execution.state.as_ref(),
                ),
            };
            is_surface(&path.clone().key("surface"), &wanted.surface, mode, report);
            let Some(words) = &wanted.contains else { continue };
            let path = path.key("contains");
            if wrap_name(execution, actor).is_some() {
                is_written(&path, words, &wanted.surface, phases, state, report);
            } else {
                is_said(&path, words, phases, state, report);
            }
        }
    }));

fn is_surface(path: &NodePath, surface: &str, mode: Option<&str>, report: &mut RuleReport<'_>) {
    let Some(protocol) = mode.and_then(Mode::protocol) else { return };
    if is_known_surface(protocol, surface) != Some(false) {
        return;
    }
    let finding = report
        .add(path.clone(), format!("`{protocol}` has no operation `{surface}`, so this is never delivered"));
    match nearest_surface(protocol, surface) {
        Some(meant) => finding.suggest_text("write", meant),
        None => finding.help("name an operation that serves the agent, such as `tools/list`"),
    };
}

/// Reports words that no operation writes: a real server may say them all the time, and they show no delivery.
fn is_written(
    path: &NodePath,
    words: &str,
    surface: &str,
    phases: &[Phase],
    state: Option<&Value>,
    report: &mut RuleReport<'_>,
) {
    let states = phases.iter().filter_map(|phase| phase.state.as_ref()).chain(state);
    let mut operations = states.flat_map(|state| placed_operations(state, &NodePath::root()));
    if !operations.any(|operation| operation.is_on(surface) && operation.writes(words)) {
        report
            .add(path.clone(), format!("no operation on `{surface}` writes this, so this is never delivered"))
            .help("use words from one text of an action, without placeholders");
    }
}

/// Reports words that an actor never says, as far as that can be known: what is sent on entering a phase, and what a model
/// writes, is not looked at.
fn is_said(
    path: &NodePath,
    words: &str,
    phases: &[Phase],
    state: Option<&Value>,
    report: &mut RuleReport<'_>,
) {
    let states = || phases.iter().filter_map(|phase| phase.state.as_ref()).chain(state);
    let unknown = phases.iter().any(|phase| phase.on_enter.is_some())
        || states().any(|state| has(state, &|key, _| key == Some("synthesize")));
    if !unknown && !states().any(|state| has(state, &|_, text| text.is_some_and(|text| text.contains(words))))
    {
        report
            .add(path.clone(), "the actor never says this, so this is never delivered")
            .help("use words from one text of its `state`, without placeholders");
    }
}

pub(super) const L_021: Rule = Rule::warning("L-021", "§7.0.1", include_str!("l021.md"))
    .titled("every entry of a response list can be chosen")
    .check(Some(|document, report| {
        for state in document.states() {
            let Some(mode) = state.mode else { continue };
            for (list, holder, path) in response_lists(&state) {
                let name = list.within.and_then(|_| holder.get("name")).filter(|name| name.is_string());
                Dispatch { mode, list }.check(holder, &path, name, report);
            }
        }
    }));

/// A longer name is not looked at: no agent calls it.
const MOST_BYTES: usize = 256;

/// A response list of a mode.
struct Dispatch<'d> {
    mode: &'d str,
    list: &'d DispatchList,
}

impl Dispatch<'_> {
    fn check(&self, holder: &Value, path: &NodePath, name: Option<&Value>, report: &mut RuleReport<'_>) {
        let mut first_seen: HashMap<String, NodePath> = HashMap::new();
        let mut takes_all: Option<NodePath> = None;
        for (entry, path) in items(holder, path, self.list.key) {
            let when = entry.get("when").and_then(Value::as_object);
            let at = if when.is_some() { path.key("when") } else { path };
            if let Some(first) = &takes_all {
                report
                    .add(at, "this entry is never chosen")
                    .label("comes too late")
                    .also(first, "an empty `when` holds for every request")
                    .help("the first entry whose `when` holds is chosen; leave `when` out for one that comes last");
                continue;
            }
            let Some(when) = when else { continue };
            if when.is_empty() {
                takes_all = Some(at);
                continue;
            }
            if let Some(first) = first_seen.get(&sorted_text(&Value::Object(when.clone()))) {
                report
                    .add(at, "this entry is never chosen: an earlier one has the same condition")
                    .label("asks for the same")
                    .also(first, "this one is chosen")
                    .help("the first entry whose `when` holds is chosen");
                continue;
            }
            first_seen.insert(sorted_text(&Value::Object(when.clone())), at.clone());
            self.can_hold(when, &at, name, report);
        }
    }

    fn can_hold(
        &self,
        when: &Map<String, Value>,
        path: &NodePath,
        name: Option<&Value>,
        report: &mut RuleReport<'_>,
    ) {
        for (key, value) in when {
            // What is not a condition is an error of its own.
            let Ok(condition) = Condition::from_value(value) else { continue };
            // What is not a path at all is V-027's to report.
            if wants_absence(&condition) || SimplePath::parse(key).is_err() {
                continue;
            }
            let at = path.clone().key(key);
            if let (Some(own @ Value::String(name)), "name") = (name, key.as_str())
                && name.len() <= MOST_BYTES
                && !name.contains("{{")
                && let Some(check) = report.compile(&condition)
                && report.can_try(&check, name.len())
                && !check.matches(own)
            {
                report
                    .add(at, format!("this entry is never chosen: it answers calls of `{name}` only"))
                    .label("another name")
                    .help("move it to the entry's own tool or prompt, or leave the condition out");
                return;
            }
            if let Some((reason, nearest)) = self.never(key) {
                let finding = report
                    .add(at, format!("this entry is never chosen: {reason}"))
                    .at_key()
                    .help(format!("`when` sees {}: its keys start there", self.sees()));
                // What a tool is called with has names of its author's choice.
                let nearest = nearest
                    .or_else(|| (self.list.answers == ["tools/call"]).then(|| format!("arguments.{key}")));
                if let Some(nearest) = nearest {
                    finding.suggest_key("look at", &nearest);
                }
                return;
            }
        }
    }

    /// Why a key resolves in none of the requests that the list answers, and what is near it.
    fn never(&self, key: &str) -> Option<(String, Option<String>)> {
        let protocol = Mode::protocol(self.mode)?;
        let mut found = None;
        for surface in &self.list.answers {
            let side = side_of_event(self.mode, surface);
            match reachability(protocol, Some(surface), side, &[self.mode], key) {
                Reachability::Never { reason, nearest } => {
                    let nearest = nearest.map(|nearest| nearest.path);
                    let simple = nearest.filter(|path| !path.is_empty() && !path.contains('['));
                    found = found.or(Some((reason.to_string(), simple)));
                }
                Reachability::Possible | Reachability::Unknown => return None,
            }
        }
        found
    }

    fn sees(&self) -> &'static str {
        match Mode::of(self.mode) {
            Mode::AgUiClient => "the `tool_call_start` event",
            _ => "the `params` of the request",
        }
    }
}

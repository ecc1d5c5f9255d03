use serde_json::Value;
use sortie_oatf::bindings::{is_known_surface, nearest_surface};
use sortie_oatf::extension::{Extension, KEY};
use sortie_oatf::model::{Document, Mode, Phase};
use sortie_oatf::rules::{RuleReport, edits};
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;

use super::Rule;

/// What `x-sortie.delivered` asks for can be served.
pub(super) const L_019: Rule = Rule {
    code: "L-019",
    spec: "",
    title: "what `x-sortie.delivered` asks for can be served",
    severity: Warning,
    explain: include_str!("l019.md"),
    check: Some(|document, report| {
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
            is_surface(document, &path.clone().key("surface"), &wanted.surface, mode, report);
            if let Some(words) = &wanted.contains {
                is_said(&path.key("contains"), words, phases, state, report);
            }
        }
    }),
};

fn is_surface(
    document: &Document,
    path: &NodePath,
    surface: &str,
    mode: Option<&str>,
    report: &mut RuleReport<'_>,
) {
    let Some(protocol) = mode.and_then(Mode::protocol) else { return };
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

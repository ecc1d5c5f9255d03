use serde_json::Value;
use sortie_oatf::bindings::{dispatch_lists, known_modes, nearest_structural_key, structural_keys};
use sortie_oatf::model::{Document, Mode};
use sortie_oatf::rules::{ActorState, RuleReport, edits};
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::{NodePath, nearest};

use super::Rule;
use super::state::items;

/// A state has the keys of its mode.
pub(super) const L_013: Rule = Rule {
    code: "L-013",
    spec: "§7",
    title: "a state has the keys of its mode",
    severity: Warning,
    explain: include_str!("l013.md"),
    check: Some(|document, report| {
        for state in document.states() {
            let Some(mode) = state.mode else { continue };
            let (Some(known), Some(fields)) = (structural_keys(mode), state.value.as_object()) else {
                continue;
            };
            for key in fields.keys() {
                if !known.contains(&key.as_str()) && !key.starts_with("x-") {
                    unknown_key(document, &state, mode, key, report);
                }
            }
            entries(document, &state, mode, report);
        }
    }),
};

fn unknown_key(
    document: &Document,
    state: &ActorState<'_>,
    mode: &str,
    key: &str,
    report: &mut RuleReport<'_>,
) {
    let path = state.path.clone().key(key);
    let finding = report
        .add(&L_013, path.clone(), format!("a state of `{mode}` has no key `{key}`, so it is left unused"))
        .at_key();
    if let Some(meant) = nearest_structural_key(mode, key) {
        finding
            .label(format!("did you mean `{meant}`?"))
            .fix(format!("write `{meant}`"), edits::rename_key(document, &path, meant));
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
        finding.help(format!("its keys are {}; start a note of your own with `x-`", keys.join(", ")));
    } else {
        finding.help(format!("it is a key of {}", owners.join(" and ")));
    }
}

/// The keys of an entry in a response list, in any mode.
const ENTRY: &[&str] = &["when", "content", "synthesize", "messages", "action", "description"];

fn entries(document: &Document, state: &ActorState<'_>, mode: &str, report: &mut RuleReport<'_>) {
    for list in dispatch_lists(mode).unwrap_or_default() {
        match list.within {
            Some(holder) => {
                for (item, path) in items(state.value, &state.path, holder) {
                    for (entry, path) in items(item, &path, list.key) {
                        entry_keys(document, entry, &path, report);
                    }
                }
            }
            None => {
                for (entry, path) in items(state.value, &state.path, list.key) {
                    entry_keys(document, entry, &path, report);
                }
            }
        }
    }
}

fn entry_keys(document: &Document, entry: &Value, path: &NodePath, report: &mut RuleReport<'_>) {
    for key in entry.as_object().into_iter().flat_map(|entry| entry.keys()) {
        if ENTRY.contains(&key.as_str()) || key.starts_with("x-") {
            continue;
        }
        let path = path.clone().key(key);
        let finding = report
            .add(
                &L_013,
                path.clone(),
                format!("an entry of a response list has no key `{key}`, so it is left unused"),
            )
            .at_key();
        let meant = nearest(key, ENTRY.iter().copied());
        match meant.map(|meant| (meant, edits::rename_key(document, &path, meant))) {
            Some((meant, edits)) if !edits.is_empty() => {
                finding.label(format!("did you mean `{meant}`?")).fix(format!("write `{meant}`"), edits);
            }
            _ => {
                finding
                    .label("nothing reads this")
                    .help("what belongs to the answer stands in `content`, which is all of it");
            }
        }
    }
}

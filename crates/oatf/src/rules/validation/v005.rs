use serde_json::Value;
use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::{NodePath, listed, nearest};

use crate::model::ElicitationMode;
use crate::rules::{Rule, RuleReport};

/// Closed enumerations hold only their members.
///
/// Those of the format itself are found while parsing, under the same code. What remains are the two that the
/// MCP binding closes inside `state`.
pub(crate) const V_005: Rule = Rule {
    code: "V-005",
    spec: "§11.1.5",
    title: "closed enumerations hold only their members",
    severity: Error,
    explain: include_str!("v005.md"),
    check: Some(|document, report| {
        document.each_state(|state| {
            // Another binding may use the same words for something else.
            if state.mode.is_some_and(|mode| !mode.starts_with("mcp_")) {
                return;
            }
            for (list, field, what, words) in [
                ("elicitation_responses", "action", "an answer to an elicitation", ACTIONS),
                ("elicitations", "mode", "a mode of elicitation", ElicitationMode::WORDS),
            ] {
                let entries = state.value.get(list).and_then(Value::as_array);
                for (index, entry) in entries.into_iter().flatten().enumerate() {
                    let Some(value) = entry.get(field) else { continue };
                    if !value.as_str().is_some_and(|word| words.contains(&word)) {
                        let path = state.at.key(list).index(index).key(field).path();
                        add(report, path, value, what, words);
                    }
                }
            }
        });
    }),
};

/// What a client may answer to an elicitation.
const ACTIONS: &[&str] = &["accept", "decline", "cancel"];

fn add(report: &mut RuleReport<'_>, path: NodePath, value: &Value, what: &str, words: &[&str]) {
    let written = value.as_str();
    let message = written.map_or(format!("this is not {what}"), |word| format!("`{word}` is not {what}"));
    let finding = report.add(&V_005, path, message).help(format!("it is one of {}", listed(words)));
    let meant = written.and_then(|word| match word {
        // Earlier drafts of the format had this one.
        "deny" => Some("decline"),
        _ => nearest(word, words.iter().copied()),
    });
    if let Some(meant) = meant {
        finding.label(format!("did you mean `{meant}`?")).replace_value(format!("write `{meant}`"), meant);
    }
}

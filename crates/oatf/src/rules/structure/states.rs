//! States, and the response lists in them.

use serde_json::Value;
use sortie_syntax::listed;

use crate::model::{Condition, Mode, OPERATORS};
use crate::rules::walk::{ListAt, Trail};
use crate::rules::{Rule, RuleReport};
use sortie_bindings::{dispatch_lists, structural_keys};

/// Every `state` is a mapping.
pub(super) const S_007: Rule = Rule::error("S-007", "", include_str!("s007.md"))
    .titled("a state is a mapping")
    .check(Some(|document, report| {
        document.each_state(|state| {
            let found = match state.value {
                Value::Object(_) => return,
                Value::Null => "nothing",
                Value::Array(_) => "a list",
                Value::String(_) => "a string",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
            };
            let mut finding = report
                .add(state.at, format!("`state` must be a mapping, not {found}"))
                .label("expected a mapping");
            if let Some(keys) = state.mode.and_then(structural_keys) {
                finding = finding.help(format!("it has the keys {}", listed(keys)));
            }
            if state.scope.phase.is_some_and(|phase| phase > 0) {
                finding.help("a phase without `state` keeps the state of the previous phase");
            }
        });
    }));

/// Response lists are lists, their entries mappings, and each `when` maps paths to conditions.
///
/// States are pass-through, so this is only said of what a runner has to understand: the response lists of a
/// known mode.
pub(super) const S_008: Rule = Rule::error("S-008", "", include_str!("s008.md"))
    .titled("response lists are lists of entries")
    .check(Some(|document, report| {
        document.each_response_list(|list| {
            if !is_dispatched(list) {
                return;
            }
            let Some(entries) = list.value.as_array() else {
                report.add(list.at, format!("`{}` must be a list of entries", list.key)).help(
                    "start each entry with `-`: the first whose `when` holds is sent, else the one without",
                );
                return;
            };
            for (index, entry) in entries.iter().enumerate() {
                let at = list.at.index(index);
                let Some(fields) = entry.as_object() else {
                    report
                        .add(at, format!("this entry of `{}` must be a mapping", list.key))
                        .help("an entry has `content`, and `when` if it is not for every request");
                    continue;
                };
                if let Some(when) = fields.get("when") {
                    check_when(report, at.key("when"), when);
                }
            }
        });
    }));

fn is_dispatched(list: &ListAt<'_, '_>) -> bool {
    let Some(mode) = list.mode else { return false };
    let elicitations =
        Mode::of(mode) == Mode::McpServer && list.within.is_none() && list.key == "elicitations";
    let mut dispatched = dispatch_lists(mode).unwrap_or_default().iter();
    elicitations || dispatched.any(|known| known.key == list.key && known.within == list.within)
}

fn check_when(report: &mut RuleReport<'_>, at: Trail<'_>, when: &Value) {
    let Some(when) = when.as_object() else {
        report.add(at, "`when` must map paths to conditions").help(
            "for example `when: {arguments.path: {contains: \"secret\"}}`; without `when` an entry \
                   is the fallback",
        );
        return;
    };
    for (path, condition) in when {
        // Equality with a plain value is never malformed, and the most common of all.
        if !condition.is_object() {
            continue;
        }
        let Err(error) = Condition::from_value(condition) else { continue };
        let finding = report.add(at.key(path).key(&error.key), error.to_string());
        if OPERATORS.contains(&error.key.as_str()) {
            finding.help("the operand has the wrong type, so the condition could never hold");
        } else {
            finding
                .at_key()
                .help(format!("operators are {}", listed(OPERATORS)))
                .help("a mapping without operators is compared as a whole; a mapping cannot mix both");
        }
    }
}

use serde_json::Value;
use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::listed;

use crate::bindings::structural_keys;
use crate::rules::Rule;

/// Every `state` is a mapping.
pub(crate) const S_007: Rule = Rule {
    code: "S-007",
    spec: "",
    title: "a state is a mapping",
    severity: Error,
    explain: include_str!("s007.md"),
    check: Some(|document, report| {
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
                .add(&S_007, state.at, format!("`state` must be a mapping, not {found}"))
                .label("expected a mapping");
            if let Some(keys) = state.mode.and_then(structural_keys) {
                finding = finding.help(format!("it has the keys {}", listed(keys)));
            }
            if state.scope.phase.is_some_and(|phase| phase > 0) {
                finding.help("a phase without `state` keeps that of the phase before it");
            }
        });
    }),
};

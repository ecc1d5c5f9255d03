use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// `attack.execution` is there. Found while parsing.
pub(crate) const V_004: Rule = Rule {
    code: "V-004",
    spec: "§11.1.4",
    title: "an attack has an execution",
    severity: Error,
    explain: include_str!("v004.md"),
    check: None,
};

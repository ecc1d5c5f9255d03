use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// `indicator.tier` is `ingested`, `local_action` or `boundary_breach`.
///
/// Another word is found while parsing, under this code.
pub(crate) const V_050: Rule = Rule {
    code: "V-050",
    spec: "§6.5",
    title: "a tier is one of the three",
    severity: Error,
    explain: include_str!("v050.md"),
    check: None,
};

use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// No anchors, aliases, merge keys and tags. Found while the YAML is read.
pub(crate) const V_020: Rule = Rule {
    code: "V-020",
    spec: "§11.1.1",
    title: "no anchors, aliases, merge keys or tags",
    severity: Error,
    explain: include_str!("v020.md"),
    check: None,
};

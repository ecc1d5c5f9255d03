use crate::diagnostic::DiagnosticSeverity::Error;
use crate::rules::{Family, Rule};

/// No anchors, aliases, merge keys and tags. Found while the YAML is read.
pub(crate) const V_020: Rule = Rule {
    code: "V-020",
    spec: "§11.1.1",
    title: "no anchors, aliases, merge keys or tags",
    severity: Error,
    family: Family::Validation,
    explain: include_str!("v020.md"),
    check: None,
};

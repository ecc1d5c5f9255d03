use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// There is exactly one `attack`, and it is a mapping. Found while parsing.
pub(crate) const V_003: Rule = Rule {
    code: "V-003",
    spec: "§11.1.3",
    title: "a document has exactly one attack",
    severity: Error,
    explain: include_str!("v003.md"),
    check: None,
};

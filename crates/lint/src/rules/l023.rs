use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;

/// A document has proofs. Whoever knows where the document stands looks for them, and only when asked to: there is
/// nothing to be seen in the document itself.
pub(super) const L_023: Rule = Rule {
    code: "L-023",
    spec: "",
    title: "a document has proofs",
    severity: Warning,
    explain: include_str!("l023.md"),
    check: None,
};

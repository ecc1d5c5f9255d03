use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::ATTACK;

/// `attack.impact`, when present, is not empty.
pub(crate) const S_004: Rule = Rule {
    code: "S-004",
    spec: "",
    title: "impact, when present, is not empty",
    severity: Error,
    explain: include_str!("s004.md"),
    check: Some(|document, report| {
        if document.attack.impact.as_ref().is_some_and(Vec::is_empty)
            && !report.is_damaged(ATTACK.key("impact"))
        {
            report
                .add(&S_004, ATTACK.key("impact"), "`impact` is empty")
                .help("name the harm the attack does, or remove the key");
        }
    }),
};

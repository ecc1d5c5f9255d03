use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// Every list of phases has at least one.
pub(crate) const V_007: Rule = Rule {
    code: "V-007",
    spec: "§11.1.7, §11.1.8",
    title: "a list of phases is not empty",
    severity: Error,
    explain: include_str!("v007.md"),
    check: Some(|document, report| {
        for list in document.phase_lists() {
            if list.phases.is_empty() {
                report.add(&V_007, list.path, "`phases` is empty").help(match list.actor {
                    Some(_) => "an actor has at least one phase; the first says what it serves: `- state: …`",
                    None => "add a phase, or use the single-phase form: `state:` beside `mode:`",
                });
            }
        }
    }),
};

use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// `phase.on_enter`, when present, is not empty.
pub(crate) const V_043: Rule = Rule {
    code: "V-043",
    spec: "§5.2",
    title: "entry actions, when present, are not empty",
    severity: Error,
    explain: include_str!("v043.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            if phase.phase.on_enter.as_ref().is_some_and(Vec::is_empty) {
                report
                    .add(&V_043, phase.at.key("on_enter"), "`on_enter` is empty")
                    .help("add an action, or remove the key");
            }
        });
    }),
};

use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;

/// `phase.extractors`, when present, is not empty.
pub(crate) const V_038: Rule = Rule {
    code: "V-038",
    spec: "§11.1.7",
    title: "extractors, when present, are not empty",
    severity: Error,
    explain: include_str!("v038.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            if phase.phase.extractors.as_ref().is_some_and(Vec::is_empty) {
                report
                    .add(&V_038, phase.at.key("extractors"), "`extractors` is empty")
                    .help("add an extractor, or remove the key");
            }
        });
    }),
};

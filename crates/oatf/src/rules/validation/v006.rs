use sortie_syntax::DiagnosticSeverity::Error;
use sortie_syntax::NodePath;

use crate::rules::Rule;

/// `indicators`, when present, is not empty.
pub(crate) const V_006: Rule = Rule {
    code: "V-006",
    spec: "§11.1.9",
    title: "indicators, when present, are not empty",
    severity: Error,
    explain: include_str!("v006.md"),
    check: Some(|document, report| {
        if document.attack.indicators.as_ref().is_some_and(Vec::is_empty) {
            let path = NodePath::root().key("attack").key("indicators");
            report.add(&V_006, path, "`indicators` is empty").help(
                "add an indicator, or remove the key: a document without indicators is played and not judged",
            );
        }
    }),
};

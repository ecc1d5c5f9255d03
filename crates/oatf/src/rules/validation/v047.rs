use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::{ATTACK, INDICATORS};

/// `correlation` only stands beside `indicators`.
pub(crate) const V_047: Rule = Rule {
    code: "V-047",
    spec: "§2.3a",
    title: "correlation comes with indicators",
    severity: Error,
    explain: include_str!("v047.md"),
    check: Some(|document, report| {
        let attack = &document.attack;
        if attack.correlation.is_some() && attack.indicators.is_none() && !report.is_damaged(INDICATORS) {
            report
                .add(&V_047, ATTACK.key("correlation"), "`correlation` without `indicators` combines nothing")
                .help("add the indicators, or remove `correlation`");
        }
    }),
};

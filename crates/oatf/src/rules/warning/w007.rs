use sortie_syntax::DiagnosticSeverity::Warning;

use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// No `semantic` indicators: what they find depends on the model that is asked.
pub(crate) const W_007: Rule = Rule {
    code: "W-007",
    spec: "§6.4",
    title: "meaning is in the eye of a model",
    severity: Warning,
    explain: include_str!("w007.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            if indicator.semantic.is_some() {
                let at = INDICATORS.index(index);
                report.add(&W_007, at.key("semantic"), "what this indicator finds depends on a model").help(
                    "where the agent's behaviour leaves a trace in a field, a `pattern` or \
                           `expression` decides the same everywhere",
                );
            }
        }
    }),
};

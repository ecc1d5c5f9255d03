use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// A pattern has `condition` or an operator.
pub(crate) const S_009: Rule = Rule {
    code: "S-009",
    spec: "",
    title: "a pattern has a condition",
    severity: Error,
    explain: include_str!("s009.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(pattern) = &indicator.pattern else { continue };
            if pattern.condition.is_none() && pattern.shorthand.is_none() {
                let path = INDICATORS.index(index).key("pattern").path();
                if !report.is_damaged(path.clone()) {
                    report.add(&S_009, path, "this pattern has nothing to compare with").help(
                        "add one operator, such as `contains: \"id_rsa\"`, or `condition` with \
                               several below it",
                    );
                }
            }
        }
    }),
};

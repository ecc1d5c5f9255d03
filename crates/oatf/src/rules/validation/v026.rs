use sortie_expr::path::{PathErrorReason, SimplePath};
use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// Every value of `expression.variables` is a simple dot-path.
pub(crate) const V_026: Rule = Rule {
    code: "V-026",
    spec: "§6.3",
    title: "variables stand for simple paths",
    severity: Error,
    explain: include_str!("v026.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let variables =
                indicator.expression.as_ref().and_then(|expression| expression.variables.as_ref());
            for (name, value) in variables.into_iter().flatten() {
                let Err(error) = SimplePath::parse(value) else { continue };
                let at = INDICATORS.index(index);
                let at = at.key("expression");
                let message = format!("variable `{name}` has no simple path: {error}");
                let finding = report
                    .add(&V_026, at.key("variables").key(name), message)
                    .within(error.at..value.len())
                    .help(
                        "a variable stands for one value: field names with dots between them, such as \
                           `arguments.url`",
                    );
                if matches!(error.reason, PathErrorReason::Wildcard | PathErrorReason::NumericIndex) {
                    finding.help("look into lists in the expression itself: `message.content.exists(c, …)`");
                }
            }
        }
    }),
};

use sortie_expr::{cel, re2};
use sortie_syntax::DiagnosticSeverity::Error;

use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// How long the expressions of one document may be together: reading them takes some twenty milliseconds.
const MAX_BYTES: usize = 256 * 1024;

/// Every CEL expression parses.
pub(crate) const V_014: Rule = Rule {
    code: "V-014",
    spec: "§6.3",
    title: "every expression is CEL",
    severity: Error,
    explain: include_str!("v014.md"),
    check: Some(|document, report| {
        let mut left = MAX_BYTES;
        let mut patterns_left = re2::MAX_TOGETHER;
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(expression) = &indicator.expression else { continue };
            let at = INDICATORS.index(index);
            let at = at.key("expression");
            let at = at.key("cel");
            left = left.saturating_sub(expression.cel.len());
            let error = match cel::Program::compile(&expression.cel) {
                Ok(program) => {
                    patterns_left = patterns_left.saturating_sub(program.pattern_cost());
                    if left == 0 || patterns_left == 0 {
                        report
                            .add(&V_014, at, "the expressions of this document are too large together")
                            .label("those from here on are not looked at")
                            .help("say the same in fewer words, count less far in patterns, or split the document");
                        return;
                    }
                    continue;
                }
                Err(error) => error,
            };
            let mut finding = report.add(&V_014, at, error.message);
            if let Some(span) = error.span {
                finding = finding.within(span);
            }
            let example =
                "an expression looks like `message.name == \"send_email\" && has(message.arguments.to)`";
            finding.help(error.help.as_deref().unwrap_or(example));
        }
    }),
};

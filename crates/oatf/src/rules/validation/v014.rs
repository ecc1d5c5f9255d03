use crate::cel;
use crate::diagnostic::DiagnosticSeverity::Error;
use crate::node_path::NodePath;
use crate::re2::MAX_DOCUMENT_SIZE;
use crate::rules::{Family, Rule};

/// Every CEL expression parses.
pub(crate) const V_014: Rule = Rule {
    code: "V-014",
    spec: "§6.3",
    title: "every expression is CEL",
    severity: Error,
    family: Family::Validation,
    explain: include_str!("v014.md"),
    check: Some(|document, report| {
        let mut pattern_size = 0;
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(expression) = &indicator.expression else { continue };
            let path = NodePath::root().key("attack").key("indicators").index(index);
            let path = path.key("expression").key("cel");
            let error = match cel::Program::compile(&expression.cel) {
                Err(error) => error,
                Ok(program) => {
                    pattern_size += program.pattern_size();
                    if pattern_size <= MAX_DOCUMENT_SIZE {
                        continue;
                    }
                    let message = "the patterns in the expressions of the document are too large together";
                    report.add(&V_014, path, message).help("count less far in their repeats");
                    // Compiling the rest is what would take too long.
                    break;
                }
            };
            let mut finding = report.add(&V_014, path, error.message);
            if let Some(span) = error.span {
                finding = finding.within(span);
            }
            let example =
                "an expression looks like `message.name == \"send_email\" && has(message.arguments.to)`";
            finding.help(error.help.as_deref().unwrap_or(example));
        }
    }),
};

use crate::cel;
use crate::diagnostic::DiagnosticSeverity::Error;
use crate::node_path::NodePath;
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
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(expression) = &indicator.expression else { continue };
            let Err(error) = cel::Program::compile(&expression.cel) else { continue };
            let path = NodePath::root().key("attack").key("indicators").index(index);
            let mut finding = report.add(&V_014, path.key("expression").key("cel"), error.message);
            if let Some(span) = error.span {
                finding = finding.within(span);
            }
            let example =
                "an expression looks like `message.name == \"send_email\" && has(message.arguments.to)`";
            finding.help(error.help.as_deref().unwrap_or(example));
        }
    }),
};

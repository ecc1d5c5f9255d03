use crate::diagnostic::DiagnosticSeverity::Error;
use crate::model::{Condition, ExtractorType};
use crate::node_path::NodePath;
use crate::re2;
use crate::rules::{Family, Report, Rule};

/// Every regular expression is RE2.
pub(crate) const V_013: Rule = Rule {
    code: "V-013",
    spec: "§6.2",
    title: "every regular expression is RE2",
    severity: Error,
    family: Family::Validation,
    explain: include_str!("v013.md"),
    check: Some(|document, report| {
        for (path, condition) in document.conditions() {
            if let Condition::Match(condition) = condition
                && let Some(regex) = condition.regex
            {
                check(report, path.key("regex"), &regex);
            }
        }
        for (path, extractor) in document.extractors() {
            if extractor.r#type == ExtractorType::Regex {
                check(report, path.key("selector"), &extractor.selector);
            }
        }
    }),
};

fn check(report: &mut Report<'_>, path: NodePath, regex: &str) {
    if let Err(error) = re2::check(regex) {
        let finding = report.add(&V_013, path, error.message).within(error.span);
        if let Some(help) = error.help {
            finding.help(help);
        }
    }
}

use crate::diagnostic::DiagnosticSeverity::Error;
use crate::model::ExtractorType;
use crate::re2;
use crate::rules::walk::Trail;
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
        document.each_condition(|at, condition| {
            if let Some(regex) = condition.regex() {
                check(report, &at.key("regex"), regex);
            }
        });
        document.each_extractor(|at, extractor| {
            if extractor.r#type == ExtractorType::Regex {
                check(report, &at.key("selector"), &extractor.selector);
            }
        });
    }),
};

fn check(report: &mut Report<'_>, at: &Trail<'_>, regex: &str) {
    if let Err(error) = re2::check(regex) {
        let finding = report.add(&V_013, *at, error.message).within(error.span);
        if let Some(help) = error.help {
            finding.help(help);
        }
    }
}

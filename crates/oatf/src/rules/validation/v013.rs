use crate::diagnostic::DiagnosticSeverity::Error;
use crate::model::{Condition, ExtractorType};
use crate::re2;
use crate::rules::places::Trail;
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
        document.each_condition(&mut |trail, condition| {
            if let Condition::Match(condition) = condition
                && let Some(regex) = &condition.regex
            {
                check(report, &trail.key("regex"), regex);
            }
        });
        document.each_extractor(&mut |trail, extractor| {
            if extractor.r#type == ExtractorType::Regex {
                check(report, &trail.key("selector"), &extractor.selector);
            }
        });
    }),
};

fn check(report: &mut Report<'_>, trail: &Trail<'_>, regex: &str) {
    if let Err(error) = re2::check(regex) {
        let finding = report.add(&V_013, trail.path(), error.message).within(error.span);
        if let Some(help) = error.help {
            finding.help(help);
        }
    }
}

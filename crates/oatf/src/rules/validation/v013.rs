use sortie_expr::re2;
use sortie_syntax::DiagnosticSeverity::Error;

use crate::model::ExtractorType;
use crate::rules::walk::Trail;
use crate::rules::{Rule, RuleReport};

/// Every regular expression is RE2.
pub(crate) const V_013: Rule = Rule {
    code: "V-013",
    spec: "§6.2",
    title: "every regular expression is RE2",
    severity: Error,
    explain: include_str!("v013.md"),
    check: Some(|document, report| {
        let mut left = Some(re2::MAX_TOGETHER);
        document.each_condition(|at, condition| {
            if let Some(regex) = condition.regex() {
                check(report, &at.key("regex"), regex, &mut left);
            }
        });
        document.each_extractor(|at, extractor| {
            if extractor.r#type == ExtractorType::Regex {
                check(report, &at.key("selector"), &extractor.selector, &mut left);
            }
        });
    }),
};

/// `left` is what further patterns may cost; `None` once there were too many, when no more are looked at.
fn check(report: &mut RuleReport<'_>, at: &Trail<'_>, regex: &str, left: &mut Option<usize>) {
    let Some(allowed) = *left else { return };
    match re2::cost(regex) {
        Ok(cost) => {
            *left = allowed.checked_sub(cost);
            if left.is_none() {
                report
                    .add(&V_013, *at, "the patterns of this document are too large together")
                    .label("those from here on are not looked at")
                    .help("count less far in their repeats, or split the document");
            }
        }
        Err(error) => {
            let help =
                error.help.as_deref().unwrap_or("write it as RE2 takes it: every tool that reads OATF does");
            report.add(&V_013, *at, error.message).within(error.span).help(help);
        }
    }
}

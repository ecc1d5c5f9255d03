use crate::diagnostic::DiagnosticSeverity::Error;
use crate::model::{Document, ExtractorType};
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
        let mut size = 0;
        each_regex(document, |at, regex| check(report, at, regex, &mut size));
    }),
};

fn each_regex(document: &Document, mut visit: impl FnMut(&Trail<'_>, &str)) {
    document.each_condition(|at, condition| {
        if let Some(regex) = condition.regex() {
            visit(&at.key("regex"), regex);
        }
    });
    document.each_extractor(|at, extractor| {
        if extractor.r#type == ExtractorType::Regex {
            visit(&at.key("selector"), &extractor.selector);
        }
    });
}

/// `size` is that of all patterns before this one.
fn check(report: &mut Report<'_>, at: &Trail<'_>, regex: &str, size: &mut usize) {
    match re2::size(regex) {
        Ok(added) => {
            let before = *size;
            *size += added;
            // Once is enough.
            if before <= re2::MAX_DOCUMENT_SIZE && *size > re2::MAX_DOCUMENT_SIZE {
                report
                    .add(&V_013, *at, "the patterns of the document are too large together")
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

/// Whether the patterns of a document are too large to be compiled by whoever looks closer.
pub(crate) fn are_patterns_too_large(document: &Document) -> bool {
    let mut size = 0;
    each_regex(document, |_, regex| size += re2::size(regex).unwrap_or(0));
    size > re2::MAX_DOCUMENT_SIZE
}

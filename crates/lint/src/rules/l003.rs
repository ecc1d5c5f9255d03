use sortie_expr::re2::Regex;
use sortie_oatf::model::{Condition, ExtractorType};
use sortie_syntax::DiagnosticSeverity::Warning;

use super::Rule;

/// A regular expression asks for something.
pub(super) const L_003: Rule = Rule {
    code: "L-003",
    spec: "",
    title: "a regular expression asks for something",
    severity: Warning,
    explain: include_str!("l003.md"),
    check: Some(|document, report| {
        for (path, condition) in document.conditions() {
            if let Condition::Match(condition) = &condition
                && let Some(regex) = &condition.regex
                && let Some(regex) = report.compile_regex(regex)
                && matches_everything(&regex)
            {
                report
                    .add(&L_003, path.key("regex"), "this regular expression matches every text")
                    .label("matches the empty text")
                    .help("make a part that must be there: `+` for `*`, or no `?` and no empty alternative")
                    .help("to ask whether the field is there at all, write `condition: {exists: true}`");
            }
        }
        for (path, extractor) in document.extractors() {
            if extractor.r#type == ExtractorType::Regex
                && let Some(regex) = report.compile_regex(&extractor.selector)
                && captures_nothing(&regex)
            {
                report
                    .add(&L_003, path.key("selector"), "this regular expression captures the empty text")
                    .label("matches nothing, at the very start of every message")
                    .help("say what stands in front of the value, or use `+` for `*`");
            }
        }
    }),
};

/// A character that no pattern has in mind.
const UNLIKELY: &str = "\u{e000}";

/// `^$` matches the empty text and asks for something all the same, so that the empty text does not tell.
fn matches_everything(regex: &Regex) -> bool {
    regex.matches_empty() && regex.is_match(UNLIKELY)
}

/// Messages are objects, so their text starts with a brace.
fn captures_nothing(regex: &Regex) -> bool {
    let message = format!("{{\"{UNLIKELY}\"");
    regex.find(&message).is_some_and(|found| found.is_empty())
}

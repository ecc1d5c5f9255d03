use std::ops::Range;

use sortie_expr::jsonpath;
use sortie_syntax::DiagnosticSeverity::Error;

use crate::model::ExtractorType;
use crate::rules::Rule;

/// Every `JSONPath` selector is one of RFC 9535.
pub(crate) const V_015: Rule = Rule {
    code: "V-015",
    spec: "§5.5",
    title: "every JSONPath is one of RFC 9535",
    severity: Error,
    explain: include_str!("v015.md"),
    check: Some(|document, report| {
        document.each_extractor(|trail, extractor| {
            if extractor.r#type != ExtractorType::JsonPath {
                return;
            }
            let selector = &extractor.selector;
            let Err(error) = jsonpath::parse(selector) else { return };
            // A `type` that could not be read may well have been `regex`.
            if report.is_unreadable(&trail.key("type").path()) {
                return;
            }
            let mut finding = report.add(&V_015, trail.key("selector").path(), error.message);
            let rooted = format!("$.{selector}");
            if !selector.starts_with('$') && jsonpath::parse(&rooted).is_ok() {
                // A JSON string is a YAML one, too.
                let quoted = serde_json::Value::from(rooted.as_str()).to_string();
                finding =
                    finding.label(format!("did you mean `{rooted}`?")).replace_value("start at `$`", quoted);
            } else if let Some(at) = error.at.filter(|_| !selector.is_empty()) {
                finding = finding.within(letter_at(selector, at));
            }
            finding.help("for example `$.arguments.path`, `$.tools[0].name` or `$..text`");
        });
    }),
};

/// The letter at a byte; the last one where the text has ended.
fn letter_at(text: &str, at: usize) -> Range<usize> {
    let mut letters = text.char_indices().filter(|(start, letter)| start + letter.len_utf8() > at);
    let last = text.char_indices().next_back();
    let (start, letter) = letters.next().or(last).unwrap_or_default();
    start..start + letter.len_utf8()
}

//! Languages within a document: RE2, CEL, `JSONPath`, paths.

use std::collections::HashSet;
use std::ops::Range;

use sortie_expr::path::{PathErrorReason, SimplePath, WildcardPath};
use sortie_expr::{cel, jsonpath, re2};
use sortie_syntax::NodePath;

use crate::model::ExtractorType;
use crate::rules::walk::Trail;
use crate::rules::{Rule, RuleReport};

pub(super) const V_013: Rule = Rule::error("V-013", "§6.2", include_str!("v013.md"))
    .titled("every regular expression is valid RE2")
    .check(Some(|document, report| {
        let mut left = Some(re2::MAX_TOGETHER);
        // Indicators that look for the same in several places share what is compiled.
        let mut compiled = HashSet::new();
        document.each_pattern(|at, condition| {
            if let Some(regex) = condition.regex().filter(|regex| !compiled.contains(regex))
                && check(report, &at.key("regex"), regex, &mut left)
            {
                compiled.insert(regex);
            }
        });
        document.each_predicate_entry(|at, key, condition| {
            if let Some(regex) = condition.regex() {
                check(report, &at.key(key).key("regex"), regex, &mut left);
            }
        });
        document.each_extractor(|at, extractor| {
            if extractor.r#type == ExtractorType::Regex {
                check(report, &at.key("selector"), &extractor.selector, &mut left);
            }
        });
    }));

/// Whether a pattern is one. `left` is what further patterns may cost; `None` once there were too many, when no more are looked at.
fn check(report: &mut RuleReport<'_>, at: &Trail<'_>, regex: &str, left: &mut Option<usize>) -> bool {
    let Some(allowed) = *left else { return false };
    match re2::cost(regex) {
        Ok(cost) => {
            *left = allowed.checked_sub(cost);
            if left.is_none() {
                report
                    .add(*at, "the patterns of this document are too large together")
                    .label("later ones are not checked")
                    .help("use smaller repeat counts, or split the document");
            }
            true
        }
        Err(error) => {
            let help = error.help.as_deref().unwrap_or("use RE2 syntax: every OATF tool supports it");
            report.add(*at, error.message).within(error.span).help(help);
            false
        }
    }
}

/// How long the expressions of one document may be together: reading them takes some twenty milliseconds.
const MAX_BYTES: usize = 256 * 1024;

/// Every CEL expression parses.
pub(super) const V_014: Rule = Rule::error("V-014", "§6.3", include_str!("v014.md"))
    .titled("every expression is valid CEL")
    .check(Some(|document, report| {
        let mut left = MAX_BYTES;
        let mut patterns_left = re2::MAX_TOGETHER;
        for (at, indicator) in document.indicators_at() {
            let Some(expression) = &indicator.expression else { continue };
            let at = at.key("expression");
            let at = at.key("cel");
            left = left.saturating_sub(expression.cel.len());
            let error = match cel::Program::compile(&expression.cel) {
                Ok(program) => {
                    patterns_left = patterns_left.saturating_sub(program.pattern_cost());
                    if left == 0 || patterns_left == 0 {
                        report
                            .add(at, "the expressions of this document are too large together")
                            .label("later ones are not checked")
                            .help(
                                "shorten the expressions, use smaller repeat counts, or split the document",
                            );
                        return;
                    }
                    continue;
                }
                Err(error) => error,
            };
            let mut finding = report.add(at, error.message);
            if let Some(span) = error.span {
                finding = finding.within(span);
            }
            let example =
                "an expression looks like `message.name == \"send_email\" && has(message.arguments.to)`";
            finding.help(error.help.as_deref().unwrap_or(example));
        }
    }));

/// Every `JSONPath` selector is one of RFC 9535.
pub(super) const V_015: Rule = Rule::error("V-015", "§5.5", include_str!("v015.md"))
    .titled("every JSONPath is valid (RFC 9535)")
    .check(Some(|document, report| {
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
            let mut finding = report.add(trail.key("selector").path(), error.message);
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
    }));

/// The letter at a byte; the last one where the text has ended.
fn letter_at(text: &str, at: usize) -> Range<usize> {
    let mut letters = text.char_indices().filter(|(start, letter)| start + letter.len_utf8() > at);
    let last = text.char_indices().next_back();
    let (start, letter) = letters.next().or(last).unwrap_or_default();
    start..start + letter.len_utf8()
}

pub(super) const V_021: Rule = Rule::error("V-021", "§6.1, §6.2, §6.4", include_str!("v021.md"))
    .titled("every target is a wildcard dot-path")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let of_pattern = indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
            let of_semantic = indicator.semantic.as_ref().and_then(|semantic| semantic.target.as_deref());
            let targets = [
                (None, Some(&*indicator.target)),
                (Some("pattern"), of_pattern),
                (Some("semantic"), of_semantic),
            ];
            for (within, target) in targets {
                let Some(target) = target else { continue };
                let Err(error) = WildcardPath::check(target) else { continue };
                let path = within.into_iter().fold(at.path(), NodePath::key).key("target");
                report
                    .add(path, format!("this is not a path: {}", error.reason))
                    .within(error.extent(target))
                    .help(match error.reason {
                        PathErrorReason::NumericIndex => {
                            "write `[*]` to look at every element; to look at one, use a CEL expression"
                        }
                        PathErrorReason::EmptySegment => {
                            "field names are separated by single dots; `\"\"` is the whole message"
                        }
                        _ => "field names, separated by dots, each with `[*]` after it where it holds a list",
                    });
            }
        }
    }));

/// Every value of `expression.variables` is a simple dot-path.
pub(super) const V_026: Rule = Rule::error("V-026", "§6.3", include_str!("v026.md"))
    .titled("variables have simple paths")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let at = at.key("expression");
            for (name, value) in indicator.variables() {
                let Err(error) = SimplePath::parse(value) else { continue };
                let message = format!("variable `{name}` has no simple path: {error}");
                let finding =
                    report.add(at.key("variables").key(name), message).within(error.at..value.len()).help(
                        "a variable stands for one value: field names with dots between them, such as \
                           `arguments.url`",
                    );
                if matches!(error.reason, PathErrorReason::Wildcard | PathErrorReason::NumericIndex) {
                    finding.help("look into lists in the expression itself: `message.content.exists(c, …)`");
                }
            }
        }
    }));

/// Every key of a predicate is a simple dot-path: in `trigger.match`, and in `when` inside states.
pub(super) const V_027: Rule = Rule::error("V-027", "§5.4", include_str!("v027.md"))
    .titled("predicates have simple paths")
    .check(Some(|document, report| {
        document.each_predicate_entry(|at, key, _| {
            if let Err(error) = SimplePath::parse(key) {
                let message = format!("`{key}` is not a simple path: {error}");
                let finding = report.add(at.key(key), message).at_key().help(
                    "a predicate looks at one value: field names with dots between them, such as \
                           `arguments.path`",
                );
                if matches!(error.reason, PathErrorReason::Wildcard | PathErrorReason::NumericIndex) {
                    finding.help(
                        "to look anywhere in a list, put a string operator on the list itself: it is \
                         compared as JSON",
                    );
                }
            }
        });
    }));

/// Every key of `expression.variables` is an identifier of CEL.
pub(super) const V_039: Rule = Rule::error("V-039", "§11.1.15", include_str!("v039.md"))
    .titled("variables have names that CEL can use")
    .check(Some(|document, report| {
        for (at, indicator) in document.indicators_at() {
            let at = at.key("expression");
            for (name, _) in indicator.variables() {
                let help = if !is_identifier(name) {
                    "names are letters, digits and `_`, and start with no digit: CEL would read the rest \
                     as operators"
                } else if cel::is_reserved(name) {
                    "the word is reserved in CEL: choose another"
                } else {
                    continue;
                };
                report
                    .add(at.key("variables").key(name), format!("`{name}` cannot be a variable of CEL"))
                    .at_key()
                    .help(help);
            }
        }
    }));

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

use crate::diagnostic::DiagnosticSeverity::Error;
use crate::model::ExtractorType;
use crate::re2;
use crate::rules::{Family, Rule};

/// The selector of a regex extractor has a capture group.
pub(crate) const V_042: Rule = Rule {
    code: "V-042",
    spec: "§5.5",
    title: "a regex extractor captures something",
    severity: Error,
    family: Family::Validation,
    explain: include_str!("v042.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            for (index, extractor) in phase.phase.extractors.iter().flatten().enumerate() {
                if extractor.r#type != ExtractorType::Regex || has_group(&extractor.selector) {
                    continue;
                }
                // What is no regular expression is V-013's to report.
                if re2::outline(&extractor.selector).is_ok_and(|regex| regex.group_count == 0) {
                    let at = phase.at.key("extractors");
                    report
                        .add(&V_042, at.index(index).key("selector"), "this pattern has no capture group")
                        .label("nothing to extract")
                        .help("put parentheses around the part to keep: `token=([a-z0-9]+)`");
                }
            }
        });
    }),
};

/// Whether a pattern has a capture group, as far as one sees without parsing it, which costs far more than
/// the rest of this rule. A pattern for which this says no is parsed to make sure.
fn has_group(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '[', '(']) {
        let (found, after) = rest[at..].split_at(1);
        rest = match found {
            "\\" => match after.strip_prefix('Q') {
                Some(quoted) => quoted.split_once("\\E").map_or("", |(_, after)| after),
                None => after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            },
            "[" => after_class(after),
            _ if !after.starts_with('?') => return true,
            _ => {
                let named = after.strip_prefix("?P<").or_else(|| after.strip_prefix("?<"));
                if named.is_some_and(|name| !name.starts_with(['=', '!'])) {
                    return true;
                }
                after
            }
        };
    }
    false
}

/// What follows a character class, given what follows its opening bracket.
fn after_class(class: &str) -> &str {
    let body = class.strip_prefix('^').unwrap_or(class);
    let mut rest = body.strip_prefix(']').unwrap_or(body);
    while let Some(at) = rest.find(['\\', '[', ']']) {
        let (found, after) = rest[at..].split_at(1);
        rest = match found {
            "]" => return after,
            "\\" => after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            // `[:alpha:]` inside a class.
            _ => match after.strip_prefix(':') {
                Some(name) => name.split_once(":]").map_or(after, |(_, after)| after),
                None => after,
            },
        };
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::has_group;

    #[test]
    fn a_group_is_told_from_what_only_looks_like_one() {
        for pattern in
            ["(a)", "x\\((y)", "[(](a)", "(?P<n>a)", "(?<n>a)", "(?:a(b))", "[]](a)", "[[:alpha:](](a)"]
        {
            assert!(has_group(pattern), "{pattern}");
        }
        for pattern in
            ["", "a", "\\(a\\)", "[(]", "(?:a)", "(?i)a", "\\Q(a)\\E", "[]()]", "[^](]", "[\\](]", "\\"]
        {
            assert!(!has_group(pattern), "{pattern}");
        }
    }
}

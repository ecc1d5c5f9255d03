//! Literals and patterns, in what a text says.

use std::fmt::Write as _;
use std::ops::Range;

use memchr::memmem::Finder;
use sortie_expr::re2::Regex;

use super::{MIN_LITERAL, REDACTED, RedactError};

/// How many secrets are taken out of one text. One that has more is replaced whole, so that what is remembered of a
/// text stays small beside it.
pub(super) const MAX_SECRETS: usize = 10_000;

#[derive(Clone, Debug, Default)]
pub(super) struct TextRules {
    literals: Vec<Finder<'static>>,
    patterns: Vec<Regex>,
}

impl TextRules {
    pub(super) fn add_literal(&mut self, literal: &str) -> Result<(), RedactError> {
        if literal.chars().count() < MIN_LITERAL {
            return Err(RedactError::LiteralTooShort);
        }
        let as_json = serde_json::Value::from(literal).to_string();
        // As it is, as it stands in JSON that is itself text, and in a URL.
        for form in [literal, &as_json[1..as_json.len() - 1], &percent_encoded(literal)] {
            if REDACTED.contains(form) {
                return Err(RedactError::LiteralInMarker);
            }
            if self.literals.iter().all(|known| known.needle() != form.as_bytes()) {
                self.literals.push(Finder::new(form.as_bytes()).into_owned());
            }
        }
        Ok(())
    }

    pub(super) fn add_pattern(&mut self, pattern: &str) -> Result<(), RedactError> {
        let regex = Regex::new(pattern)
            .map_err(|source| RedactError::Regex { pattern: pattern.to_owned(), source })?;
        if regex.matches_empty() {
            return Err(RedactError::MatchesEmpty(pattern.to_owned()));
        }
        self.patterns.push(regex);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty() && self.patterns.is_empty()
    }

    pub(super) fn finds_in(&self, text: &str) -> bool {
        self.literals.iter().any(|literal| literal.find(text.as_bytes()).is_some())
            || self.patterns.iter().any(|pattern| pattern.is_match(text))
    }

    /// Where the literals are in bytes, in order. There may be more when there are more than [`MAX_SECRETS`].
    pub(super) fn literals_in(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for literal in &self.literals {
            let mut from = 0;
            while found.len() <= MAX_SECRETS
                && let Some(at) = literal.find(&bytes[from..])
            {
                let range = from + at..from + at + literal.needle().len();
                // Two of one secret may share letters.
                match found.last_mut().filter(|last| last.contains(&range.start)) {
                    Some(last) => last.end = last.end.max(range.end),
                    None => found.push(range),
                }
                from += at + 1;
            }
        }
        united(found)
    }

    /// Where there are secrets in a text, in order. All are looked for in the text as it is, so that taking out one does
    /// not hide another. There may be more when there are more than [`MAX_SECRETS`].
    pub(super) fn secrets_in(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.literals_in(text.as_bytes());
        for pattern in &self.patterns {
            let mut from = 0;
            while found.len() <= MAX_SECRETS
                && let Some(range) = pattern.find_from(text, from)
            {
                from = range.end.max(range.start + 1);
                if !range.is_empty() {
                    found.push(range);
                }
            }
        }
        united(found)
    }

    /// Whether what was found is better replaced with the whole text: there is too much of it, or taking it out would
    /// make a new secret of what is left and right of it and of the marker.
    pub(super) fn spoils(&self, text: &str, secrets: &[Range<usize>]) -> bool {
        secrets.len() > MAX_SECRETS || self.finds_in(&replaced(text, secrets))
    }

    /// The text without its secrets, if it has any.
    pub(super) fn redacted(&self, text: &str) -> Option<String> {
        let secrets = self.secrets_in(text);
        if secrets.is_empty() {
            return None;
        }
        Some(if self.spoils(text, &secrets) { REDACTED.to_owned() } else { replaced(text, &secrets) })
    }
}

/// A text with the marker in the place of each range.
fn replaced(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for range in ranges {
        out.push_str(&text[copied..range.start]);
        out.push_str(REDACTED);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    out
}

/// Ranges in order, and those that overlap as one.
fn united(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut united: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match united.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => united.push(range),
        }
    }
    united
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}"); // writing to a string cannot fail
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(literals: &[&str], patterns: &[&str]) -> TextRules {
        let mut rules = TextRules::default();
        for literal in literals {
            rules.add_literal(literal).unwrap();
        }
        for pattern in patterns {
            rules.add_pattern(pattern).unwrap();
        }
        rules
    }

    #[test]
    fn secrets_that_overlap_leave_together() {
        let rules = rules(&["abcdef", "defghi", "abcd"], &[]);
        assert_eq!(rules.redacted("x abcdefghi y abcd").unwrap(), "x [redacted] y [redacted]");
        assert_eq!(rules.redacted("abcabc"), None);
    }

    #[test]
    fn no_secret_is_made_of_what_is_left() {
        // `d]abc` is made of the end of the marker and the letters behind it.
        let rules = rules(&["d]abc", "hunter2"], &[]);
        assert_eq!(rules.redacted("hunter2abc").unwrap(), REDACTED);
        assert_eq!(rules.redacted("hunter2 abc").unwrap(), "[redacted] abc");
    }

    #[test]
    fn a_text_of_nothing_but_secrets_is_replaced_whole() {
        let rules = rules(&["aaaa", "hunter2"], &["[0-9]"]);
        assert_eq!(rules.redacted(&"a".repeat(1_000_000)).unwrap(), REDACTED);
        assert_eq!(rules.redacted(&"hunter2 ".repeat(20_000)).unwrap(), REDACTED);
        assert_eq!(rules.redacted(&"1 ".repeat(20_000)).unwrap(), REDACTED);
    }

    #[test]
    fn patterns_are_found_wherever_they_match() {
        let rules = rules(&[], &[r"sk-[a-z0-9]+", r"\Bfoo"]);
        assert_eq!(
            rules.redacted("sk-abc, sk-9 xfoofoo").unwrap(),
            "[redacted], [redacted] x[redacted][redacted]"
        );
    }

    #[test]
    fn a_pattern_that_matches_everything_leaves_the_marker() {
        assert_eq!(rules(&[], &["(?s).+"]).redacted("anything").unwrap(), REDACTED);
        assert_eq!(rules(&[], &[r"\b"]).redacted("any thing"), None);
    }

    #[test]
    fn a_literal_is_found_as_json_in_text_and_in_a_url() {
        let rules = rules(&["two\nlines \"é\""], &[]);
        for text in ["two\nlines \"é\"", r#"{"a":"two\nlines \"é\""}"#, "?q=two%0Alines%20%22%C3%A9%22"] {
            let redacted = rules.redacted(text).unwrap();
            assert!(!redacted.contains("lines"), "{redacted}");
        }
    }
}

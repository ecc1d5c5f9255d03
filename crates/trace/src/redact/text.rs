//! Literals and patterns, in what a text says, and in what is not JSON: there is no structure to go by there, so what cannot be
//! taken out cleanly is dropped whole.

use std::fmt::Write as _;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::Finder;
use sortie_expr::re2::Regex;

use super::{MIN_LITERAL, REDACTED, RedactError, Redactor};
use crate::content::Content;
use crate::json_text::{Edits, decoded};

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
    let mut edits = Edits::new(text);
    for range in ranges {
        edits.replace(range.clone(), REDACTED);
    }
    edits.finish().unwrap_or_else(|| text.to_owned())
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

/// The content that stands for one that was dropped.
pub(super) fn dropped() -> String {
    STANDARD.encode(REDACTED)
}

impl Redactor {
    /// The content without its secrets, in base64, if it has any. What is not base64 is dropped: nobody knows what it
    /// is.
    pub(super) fn redacted_base64(&self, content: &Content) -> Option<String> {
        match content.bytes() {
            Some(bytes) => self.redacted_bytes(&bytes).map(|bytes| STANDARD.encode(bytes)),
            None => Some(dropped()),
        }
    }

    /// The bytes without their secrets, if they have any.
    pub(super) fn redacted_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let secrets = self.text.literals_in(bytes);
        if secrets.len() > MAX_SECRETS {
            return Some(REDACTED.into());
        }
        let mut redacted = Vec::with_capacity(bytes.len());
        let mut copied = 0;
        for secret in &secrets {
            redacted.extend(&bytes[copied..secret.start]);
            redacted.extend(REDACTED.as_bytes());
            copied = secret.end;
        }
        redacted.extend(&bytes[copied..]);
        let by_pattern = std::str::from_utf8(&redacted).ok().and_then(|text| self.text.redacted(text));
        let changed = !secrets.is_empty() || by_pattern.is_some();
        if let Some(text) = by_pattern {
            redacted = text.into_bytes();
        }
        if self.may_still_hold_one(&redacted) {
            return Some(REDACTED.into());
        }
        changed.then_some(redacted)
    }

    /// Broken JSON escapes its letters and has its members too, only not in a way that one could rely on.
    fn may_still_hold_one(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let said = decoded(&text);
        if self.text.finds_in(&text) || self.text.finds_in(&said) {
            return true;
        }
        let said = said.to_lowercase();
        self.fields.iter().chain(&self.headers).any(|name| said.contains(name))
            || self
                .paths
                .iter()
                .any(|path| path.last_name().is_none_or(|name| said.contains(&name.to_lowercase())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::RedactRule;
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

    fn redacted(rules: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
        let rules = rules.iter().map(|rule| rule.parse::<RedactRule>().unwrap());
        Redactor::new(rules).unwrap().redacted_bytes(bytes)
    }

    #[test]
    fn literals_are_taken_out_and_the_rest_stays() {
        assert_eq!(redacted(&["value:hunter2"], b"data: hunter2\n").unwrap(), b"data: [redacted]\n");
        assert_eq!(redacted(&["value:hunter2"], b"\xff\x00hunter2\xfe").unwrap(), b"\xff\x00[redacted]\xfe");
        assert_eq!(redacted(&["value:hunter2"], b"\xff\x00hunter\xfe"), None);
    }

    #[test]
    fn patterns_are_taken_out_of_text_and_other_bytes_are_dropped() {
        assert_eq!(redacted(&["regex:sk-[0-9]+"], b"a sk-123 b").unwrap(), b"a [redacted] b");
        assert_eq!(redacted(&["regex:sk-[0-9]+"], b"\xffa sk-123 b").unwrap(), REDACTED.as_bytes());
        assert_eq!(redacted(&["regex:sk-[0-9]+"], b"\xffa sk- b"), None);
    }

    #[test]
    fn broken_json_that_may_hold_a_secret_is_dropped() {
        assert_eq!(redacted(&["value:hunter2"], br#"{"a":"\u0068unter2"#).unwrap(), REDACTED.as_bytes());
        assert_eq!(redacted(&["field:password"], br#"{"Pass\u0077ord":"x"#).unwrap(), REDACTED.as_bytes());
        assert_eq!(redacted(&["path:a.token"], br#"{"a":{"token":"x"#).unwrap(), REDACTED.as_bytes());
        assert_eq!(redacted(&["field:password"], br#"{"user":"x"#), None);
    }

    #[test]
    fn what_is_no_base64_is_dropped() {
        let redactor = Redactor::new([RedactRule::Literal("hunter2".into())]).unwrap();
        assert_eq!(redactor.redacted_base64(&Content::Bytes("hunter2!".into())), Some(dropped()));
    }
}

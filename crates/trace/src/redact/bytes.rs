//! Secrets in what is no JSON.
//!
//! There is no structure to go by, so what cannot be taken out cleanly is dropped whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::text::MAX_SECRETS;
use super::{REDACTED, Redactor};
use crate::content::Content;
use crate::json_text::decoded;

/// The content that stands for one that was dropped.
pub(super) fn dropped() -> String {
    STANDARD.encode(REDACTED)
}

impl Redactor {
    /// The content without its secrets, in base64, if it has any. What is no base64 is dropped: nobody knows what it
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

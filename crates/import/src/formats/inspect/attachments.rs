//! Long texts that stand once in a log, as `attachment://KEY` wherever they are meant.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

const QUOTED: &str = "\"attachment://";

/// The attachments of a sample, by hash or by number.
pub(super) struct Attachments<'j> {
    texts: HashMap<String, &'j RawValue>,
    /// How many bytes they may still be put in for: one of a megabyte may be meant a million times.
    left: usize,
    /// How many were meant that are not there.
    pub(super) missing: u64,
    /// How many were left out, since all together would be too large.
    pub(super) too_many: u64,
}

impl<'j> Attachments<'j> {
    pub(super) fn new(texts: HashMap<String, &'j RawValue>, left: usize) -> Self {
        Self { texts, left, missing: 0, too_many: 0 }
    }

    /// A value with the texts of its attachments.
    pub(super) fn resolve<'a>(&mut self, raw: &'a RawValue) -> Cow<'a, RawValue> {
        if !raw.get().contains(QUOTED) {
            return Cow::Borrowed(raw);
        }
        let mut out = String::new();
        let mut rest = raw.get();
        while let Some(at) = rest.find(QUOTED) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let inner = &from[QUOTED.len()..];
            let key = inner.split(|char: char| !char.is_ascii_alphanumeric()).next().unwrap_or_default();
            // A quote after a backslash is one within a text.
            let is_reference =
                !before.ends_with('\\') && inner[key.len()..].starts_with('"') && !key.is_empty();
            let length = if is_reference { QUOTED.len() + key.len() + 1 } else { QUOTED.len() };
            match self.texts.get(key).filter(|_| is_reference) {
                Some(text) if text.get().len() <= self.left => {
                    self.left -= text.get().len();
                    out.push_str(text.get());
                }
                found => {
                    self.too_many += u64::from(found.is_some());
                    self.missing += u64::from(is_reference && found.is_none());
                    out.push_str(&from[..length]);
                }
            }
            rest = &from[length..];
        }
        out.push_str(rest);
        RawValue::from_string(out).map_or(Cow::Borrowed(raw), Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_put_in_where_they_are_meant() {
        let text = RawValue::from_string(r#""long \"text\"""#.to_owned()).unwrap();
        let mut attachments = Attachments::new(HashMap::from([("a1".to_owned(), &*text)]), 30);
        let mut resolve = |json: &str| {
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            attachments.resolve(&raw).get().to_owned()
        };
        assert_eq!(resolve(r#"["attachment://a1",1.00]"#), r#"["long \"text\"",1.00]"#);
        // Within a text, with more than a key, and one that is not there.
        for same in [
            r#""he said \"attachment://a1\"""#,
            r#""attachment://a1 and more""#,
            r#"{"a":"attachment://b2"}"#,
        ] {
            assert_eq!(resolve(same), same);
        }
        // The budget: once more, and no more.
        assert_eq!(
            resolve(r#"["attachment://a1","attachment://a1"]"#),
            r#"["long \"text\"","attachment://a1"]"#
        );
        assert_eq!((attachments.missing, attachments.too_many), (1, 1));
    }
}

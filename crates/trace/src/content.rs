//! What was on the wire, to the byte.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::json_text::{self, Token, Tokens};

/// What was on the wire.
///
/// JSON is kept to the byte, duplicate keys, odd escapes and the digits of numbers included; what is not JSON is kept
/// as base64. The only thing that is lost are line breaks between the tokens of JSON: a record is one line, so they
/// are written as spaces.
#[derive(Clone, Debug, Serialize)]
pub enum Content {
    /// JSON as it was sent.
    #[serde(rename = "content")]
    Json(Box<RawValue>),
    /// Bytes that are no JSON, in base64.
    #[serde(rename = "bytes_b64")]
    Bytes(String),
}

impl Content {
    /// What was on the wire: JSON if it is that, otherwise bytes.
    ///
    /// ```
    /// use sortie_trace::Content;
    ///
    /// assert!(matches!(Content::from_wire(b"{\"n\": 1.00}"), Content::Json(json) if json.get() == "{\"n\": 1.00}"));
    /// assert!(matches!(Content::from_wire(b"hello"), Content::Bytes(text) if text == "aGVsbG8="));
    /// ```
    pub fn from_wire(bytes: &[u8]) -> Self {
        let json = std::str::from_utf8(bytes).ok().and_then(|text| serde_json::from_str(text).ok());
        json.map_or_else(|| Self::Bytes(STANDARD.encode(bytes)), Self::Json)
    }

    /// The bytes that were on the wire, but for spaces around JSON. `None` when the base64 of a record is none.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Json(json) => Some(Cow::Borrowed(json.get().as_bytes())),
            Self::Bytes(base64) => {
                let unpadded = base64.trim_end_matches('=');
                STANDARD_NO_PAD.decode(unpadded).ok().map(Cow::Owned)
            }
        }
    }

    /// The same as text: what is not UTF-8 becomes U+FFFD, and what is not base64 stays as it is.
    pub fn text(&self) -> Cow<'_, str> {
        match (self, self.bytes()) {
            (Self::Json(json), _) => Cow::Borrowed(json.get()),
            (Self::Bytes(_), Some(bytes)) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            (Self::Bytes(base64), None) => Cow::Borrowed(base64),
        }
    }

    /// Whether these words stand in a string of it, as whoever reads the JSON sees them; in what is not JSON, anywhere.
    ///
    /// ```
    /// use sortie_trace::Content;
    ///
    /// let content = Content::from_wire(br#"{"text": "Say \"yes\"."}"#);
    /// assert!(content.says("Say \"yes\"") && !content.says("text"));
    /// ```
    pub fn says(&self, words: &str) -> bool {
        match self {
            Self::Json(json) => says(json.get(), words),
            Self::Bytes(_) => self.text().contains(words),
        }
    }

    /// JSON laid out over lines, every token as it was; what is not JSON as [`text`](Self::text).
    pub fn pretty(&self) -> String {
        match self {
            Self::Json(json) => json_text::pretty(json.get()),
            Self::Bytes(_) => self.text().into_owned(),
        }
    }
}

/// Whether words stand in a string of a JSON text; the names of members do not count.
fn says(text: &str, words: &str) -> bool {
    Tokens::new(text).any(|(token, place)| {
        let string = &text[place];
        if token != Token::String {
            return false;
        }
        if string.contains('\\') {
            // A lone surrogate makes it no text, which says nothing.
            return serde_json::from_str::<String>(string).is_ok_and(|string| string.contains(words));
        }
        string.trim_matches('"').contains(words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_readers_trip_over_is_still_json_to_the_byte() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [r#"{"a":1,"a":2}"#, r#""\ud800""#, "1e999", "123456789012345678901234567890", &deep] {
            let content = Content::from_wire(text.as_bytes());
            assert!(matches!(&content, Content::Json(json) if json.get() == text), "{text:.40}");
        }
    }

    #[test]
    fn words_are_found_as_a_reader_sees_them() {
        let content =
            Content::from_wire(r#"{"key": ["a\nb", {"x": "caf\u00e9 \"q\""}], "y": "\ud800"}"#.as_bytes());
        for words in ["a\nb", "b", "café \"q\"", ""] {
            assert!(content.says(words), "{words}");
        }
        for words in ["key", "a\\nb", "x", "ud800", "b\",", "\"b"] {
            assert!(!content.says(words), "{words}");
        }
        assert!(Content::from_wire(b"data: pay now").says("pay"));
    }

    #[test]
    fn what_is_no_json_is_kept_too() {
        for bytes in [&b""[..], b"\xff\xfe{", b"{\"a\":", b"data: x", b"NaN", b"{} {}", b"\xef\xbb\xbf{}"] {
            let content = Content::from_wire(bytes);
            assert!(matches!(content, Content::Bytes(_)), "{bytes:?}");
            assert_eq!(content.bytes().as_deref(), Some(bytes));
        }
        assert_eq!(Content::from_wire(b"caf\xe9").text(), "caf\u{fffd}");
        assert_eq!(Content::Bytes("!".into()).bytes(), None);
        assert_eq!(Content::Bytes("!".into()).text(), "!");
    }
}

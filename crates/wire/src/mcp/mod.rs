//! The Model Context Protocol: how its messages travel. What they say is the caller's business.

pub mod client;
pub mod relay;
pub mod revision;
pub mod server;

pub use revision::McpRevision;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// A value as it stands in a header that repeats what a message says (2026-07-28): plain, or `=?base64?…?=` where it cannot.
pub fn encode_header(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && value.trim() == value;
    if plain && base64_of(value).is_none() {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(value)))
}

/// What a header says. Base64 that is none stays as it is.
///
/// ```
/// use sortie_wire::mcp::{decode_header, encode_header};
///
/// assert_eq!(encode_header("grüße"), "=?base64?Z3LDvMOfZQ==?=");
/// assert_eq!(decode_header("=?base64?Z3LDvMOfZQ==?="), "grüße");
/// ```
pub fn decode_header(value: &str) -> Cow<'_, str> {
    let Some(encoded) = base64_of(value) else { return Cow::Borrowed(value) };
    // Padding is not asked for.
    let bytes = STANDARD_NO_PAD.decode(encoded.trim_end_matches('='));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or(Cow::Borrowed(value), Cow::Owned)
}

fn base64_of(value: &str) -> Option<&str> {
    value.strip_prefix("=?base64?")?.strip_suffix("?=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_whatever_it_is() {
        for value in ["plain name", " edge", "", "grüße", "=?base64?eA==?=", "=?base64??=", "a\nb"] {
            let encoded = encode_header(value);
            assert!(encoded.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{encoded}");
            assert_eq!(decode_header(&encoded), value, "{encoded}");
        }
        assert_eq!(encode_header(" edge"), "=?base64?IGVkZ2U=?=");
        assert_eq!(decode_header("=?base64?IGVkZ2U?="), " edge", "without padding");
        for none in ["=?base64?!?=", "=?base64?/w==?="] {
            assert_eq!(decode_header(none), none);
        }
    }
}

//! Data in a page: compressed, so that it is small, and in base64, so that nothing in it can end the element that holds it.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use serde::Serialize;

/// A middle way between time and size.
const LEVEL: u8 = 6;

/// JSON as `DecompressionStream("deflate")` and `JSON.parse` read it, in base64.
pub(super) fn packed(value: &impl Serialize) -> io::Result<String> {
    Ok(STANDARD.encode(compress_to_vec_zlib(&serde_json::to_vec(value)?, LEVEL)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let value = json!({"a": "</script><script>alert(1)</script>", "b": ["x".repeat(10_000)]});
        let text = packed(&value).unwrap();
        assert!(text.len() < 400 && !text.contains('<'));
        let bytes = STANDARD.decode(text).unwrap();
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), value);
    }
}

//! JSON with comments and trailing commas, as editors write their settings.

use std::borrow::Cow;

/// The same text as JSON: comments become spaces, and commas before a closing bracket are left out. Places stay where they are.
///
/// What is not JSON stays none: a parser is to say so.
pub(crate) fn to_json(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !text.contains("//") && !text.contains("/*") && !has_trailing_comma(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = bytes.to_vec();
    let mut comma: Option<usize> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => end_of_string(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end = find(bytes, at, b"\n").unwrap_or(bytes.len());
                blank(&mut out[at..end]);
                at = end;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2);
                blank(&mut out[at..end]);
                at = end;
                continue;
            }
            _ => at + 1,
        };
        match byte {
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => comma = None,
        }
        at = end;
    }
    // Comments are replaced whole, so that no letter is cut.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn has_trailing_comma(bytes: &[u8]) -> bool {
    let mut after_comma = false;
    for byte in bytes {
        match byte {
            b',' => after_comma = true,
            b']' | b'}' if after_comma => return true,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => after_comma = false,
        }
    }
    false
}

/// The place after a string that begins here.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

fn blank(comment: &mut [u8]) {
    for byte in comment {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> Option<Value> {
        let read = to_json(text);
        assert_eq!(read.len(), text.len(), "places move");
        serde_json::from_str(&read).ok()
    }

    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        let text = "// head\n{\n  \"a\": [1, 2, /* é , ] */ ], // tail\n  \"b\": \"// no, /* none */ ,]\",\n  /**/\n}";
        assert_eq!(read(text), Some(json!({"a": [1, 2], "b": "// no, /* none */ ,]"})));
        assert_eq!(read("{\"url\": \"http://h/\"}"), Some(json!({"url": "http://h/"})));
        assert_eq!(read("[\"\\\"\", \",]\",]"), Some(json!(["\"", ",]"])));
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["[,]x", "{\"a\" 1,}", "[1,,]", "/* open", "\"open", "\"\\", "//", "["] {
            assert_eq!(read(text), None, "{text}");
        }
        // One comma too many is taken for a trailing one, as editors do.
        assert_eq!(read("[,]"), Some(json!([])));
    }
}

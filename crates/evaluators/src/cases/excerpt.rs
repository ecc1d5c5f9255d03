//! As much of what a target sent as fits in a sentence.

/// How many characters that are.
const LENGTH: usize = 200;

/// The beginning of a body, on one line and without characters that would do something.
pub fn excerpt(body: &[u8]) -> String {
    // A character has at most four bytes.
    let beginning = &body[..body.len().min(LENGTH * 4)];
    let text = String::from_utf8_lossy(beginning);
    let mut short = String::new();
    for letter in text.trim().chars().take(LENGTH) {
        match letter {
            // They do nothing, and a sentence with backslashes is hard to read.
            '\'' | '"' => short.push(letter),
            letter => short.extend(letter.escape_debug()),
        }
    }
    if text.chars().count() > LENGTH || beginning.len() < body.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_harmless() {
        assert_eq!(excerpt(b"  no\n\x1b[31m "), "no\\n\\u{1b}[31m");
        assert_eq!(excerpt(&vec![b'x'; 10_000_000]).chars().count(), LENGTH + 1);
        assert_eq!(excerpt(b"\xff"), "\u{fffd}");
        assert_eq!(excerpt(br#"{"it's": "\"}"#), r#"{"it's": "\\"}"#);
    }
}

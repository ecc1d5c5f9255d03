//! String literals of JSON: what is put into them, and where a byte of the string stands in the literal.

/// A text as it stands between the quotes of a literal.
pub(crate) fn escaped(text: &str) -> String {
    let literal = serde_json::Value::from(text).to_string();
    literal[1..literal.len() - 1].to_owned()
}

/// The byte of a literal, quotes included, at which a byte of its string begins.
pub(crate) fn offset_in_literal(literal: &str, wanted: usize) -> Option<usize> {
    let end = literal.len().checked_sub(1)?;
    let (mut at, mut decoded) = (1, 0);
    while at < end && decoded < wanted {
        let (written, read) = character(&literal[at..end])?;
        at += written;
        decoded += read;
    }
    (decoded == wanted && at <= end).then_some(at)
}

/// How many bytes the first character takes in a literal, and in its string.
fn character(rest: &str) -> Option<(usize, usize)> {
    let first = rest.chars().next()?;
    if first != '\\' {
        return Some((first.len_utf8(), first.len_utf8()));
    }
    if rest.as_bytes().get(1) != Some(&b'u') {
        return Some((2, 1));
    }
    let unit = |at: usize| u32::from_str_radix(rest.get(at..at + 4)?, 16).ok();
    let unit_value = unit(2)?;
    // Two escapes make one character of four bytes.
    if (0xD800..0xDC00).contains(&unit_value) {
        return Some((12, 4));
    }
    Some((6, char::from_u32(unit_value)?.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_the_string_are_found_in_the_literal() {
        let literal = r#""a\n\u00e9é\ud83d\ude00z""#;
        let text: String = serde_json::from_str(literal).unwrap();
        for (offset, letter) in text.char_indices().chain([(text.len(), '"')]) {
            let at = offset_in_literal(literal, offset).unwrap();
            let rest = if offset == text.len() { String::new() } else { text[offset..].to_owned() };
            let read: String = serde_json::from_str(&format!("\"{}", &literal[at..])).unwrap();
            assert_eq!(read, rest, "{letter}");
        }
        assert_eq!(offset_in_literal(literal, text.len() + 1), None);
        assert_eq!(offset_in_literal(literal, 3), None);
    }

    #[test]
    fn what_is_put_in_reads_back() {
        let text = "\"\\\n\u{1}é";
        assert_eq!(serde_json::from_str::<String>(&format!("\"{}\"", escaped(text))).unwrap(), text);
    }
}

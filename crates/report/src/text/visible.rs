//! Makes visible what a terminal would obey, hide or reorder.
//!
//! Documents are hostile input, and attack documents hold such characters on purpose. Each is replaced by one
//! that is one column wide, so that what is underlined stays underlined.

use std::borrow::Cow;

/// The text with every control, bidirectional and invisible character replaced; line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(|letter| stand_in(letter).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|letter| stand_in(letter).unwrap_or(letter)).collect())
}

/// What is shown in the place of a character that must not be shown as it is.
pub(super) fn stand_in(letter: char) -> Option<char> {
    match letter {
        '\n' | '\t' => None,
        // The pictures of the control characters stand in the same order: ␀ ␁ … ␟.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)),
        '\u{7f}' => Some('␡'),
        // C1 controls: U+009B is as good as ESC [ to many terminals.
        '\u{80}'..='\u{9f}'
        // Soft hyphen, Arabic letter mark, Mongolian vowel separator.
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        // Zero width spaces and joiners, left-to-right and right-to-left marks.
        | '\u{200b}'..='\u{200f}'
        // Line and paragraph separators, embeddings and overrides.
        | '\u{2028}'..='\u{202e}'
        // Word joiner, invisible operators, isolates, deprecated format characters.
        | '\u{2060}'..='\u{206f}'
        // Byte order mark, interlinear annotations.
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        // Tags, a favourite for instructions that people do not see.
        | '\u{e0000}'..='\u{e007f}' => Some('\u{fffd}'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_never_sent() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\r"), "a␛[31mb␇␍");
        assert_eq!(
            visible("\u{9b}2J \u{202e}abc\u{2066} \u{e0041}"),
            "\u{fffd}2J \u{fffd}abc\u{fffd} \u{fffd}"
        );
    }

    #[test]
    fn text_stays_text() {
        let text = "tab\tand line\n, ümläut, 漢字, 🦀";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }
}

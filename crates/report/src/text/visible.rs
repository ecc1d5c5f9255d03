//! Makes visible what a terminal would obey, hide or reorder.
//!
//! Documents are hostile input, and attack documents hold such characters on purpose. Each is replaced by one
//! that is one column wide, so that what is underlined stays underlined.

use std::borrow::Cow;

use sortie_syntax::shown::is_hidden;

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
        hidden if is_hidden(hidden) => Some('\u{fffd}'),
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
    fn nothing_in_the_table_is_written_as_it_is() {
        for (first, last) in sortie_syntax::shown::HIDDEN {
            for letter in (*first..=*last).filter(|letter| !matches!(letter, '\n' | '\t')) {
                assert!(!visible(&format!("a{letter}b")).contains(letter), "U+{:04X}", u32::from(letter));
            }
        }
    }

    #[test]
    fn text_stays_text() {
        let text = "tab\tand line\n, ümläut, 漢字, 🦀";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }
}

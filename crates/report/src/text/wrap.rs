//! Breaks text into lines between words.

use unicode_width::UnicodeWidthStr as _;

/// The words of a text on lines of at most so many columns. A word that is longer has a line of its own.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_words_are_not() {
        assert_eq!(wrap("a bb  ccc\ndddd", 6), ["a bb", "ccc", "dddd"]);
        assert_eq!(wrap("unbreakable as it is", 5), ["unbreakable", "as it", "is"]);
        assert_eq!(wrap("漢字 漢字", 5), ["漢字", "漢字"]);
        assert!(wrap(" \n", 5).is_empty());
    }
}

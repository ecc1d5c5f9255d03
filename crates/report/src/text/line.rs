//! Pieces of lines.

use super::visible;

/// Text on one line, with nothing in it that a terminal would obey.
pub fn line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}

/// A number with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

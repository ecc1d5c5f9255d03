//! Text of strangers in Markdown: it may be anything, and becomes neither markup nor a mention nor a link.
//!
//! Code spans and code blocks are the one place in which GitHub, GitLab and others look for nothing at all: no emphasis, no HTML, no
//! `@name`, no `#1`, no address. Escapes alone are not enough there, since mentions are looked for after they are resolved.

use std::fmt::Write as _;

use super::{line, visible};

/// The text as a code span.
pub(crate) fn code(text: &str) -> String {
    let text = line(text);
    if text.trim().is_empty() {
        return "—".to_owned();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    // A space on each side is taken off again, and keeps backticks and spaces at the ends.
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The text as a code span in a cell of a table, whose cells are told apart before anything else is.
pub(crate) fn cell(text: &str) -> String {
    // `\|` is a bar, and `\\|` is a backslash and the end of the cell: so nothing stands before the backslash of a bar.
    code(text).replace("\\|", "\\ |").replace('|', "\\|")
}

/// The text as a code block of its own, with its lines.
pub(crate) fn block(text: &str) -> String {
    let text = visible(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The text in a line of HTML, as code.
pub(crate) fn html_code(text: &str) -> String {
    format!("<code>{}</code>", html(&line(text)))
}

/// The text as prose, for pages in which nobody can be mentioned: every letter that could be markup is an entity.
pub(crate) fn prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in line(text).chars() {
        match letter {
            // Addresses of mail are looked for after entities are resolved.
            '@' => escaped.push('＠'),
            letter
                if letter.is_ascii_punctuation() && !matches!(letter, ',' | ';' | '\'' | '"' | '?' | '%') =>
            {
                let _ = write!(escaped, "&#{};", u32::from(letter)); // memory takes everything
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_code_span_from_within() {
        assert_eq!(code("@all <b> [x](y)"), "`@all <b> [x](y)`");
        assert_eq!(code("a``b`"), "``` a``b` ```");
        assert_eq!(code("two\nlines"), "`two␊lines`");
        assert_eq!(code(" a"), "`  a `");
        assert_eq!(code("  "), "—");
    }

    #[test]
    fn nothing_ends_a_cell_from_within() {
        for hostile in ["a|b", "a\\|b", "a\\\\|b", "|", "\\|", "``|`"] {
            let row = cell(hostile);
            // As GitHub reads a row: a backslash takes the punctuation after it along, and a bar is the end.
            let mut letters = row.chars().peekable();
            while let Some(letter) = letters.next() {
                assert_ne!(letter, '|', "{hostile} ends its cell: {row}");
                if letter == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation) {
                    letters.next();
                }
            }
        }
    }

    #[test]
    fn nothing_ends_a_code_block_from_within() {
        assert_eq!(block("a\n```\nb"), "````text\na\n```\nb\n````\n");
        assert_eq!(block("plain\n\n"), "```text\nplain\n```\n");
    }

    #[test]
    fn prose_holds_no_markup_and_no_address() {
        let text = prose("![x](https://e.example/p) @a <b> *c* `d` www.e.example a@e.example");
        assert!(!text.contains(['!', '[', '(', '*', '`', '<', '@', '.', ':']), "{text}");
        assert!(html_code("<img src=x>").starts_with("<code>&lt;img"));
    }
}

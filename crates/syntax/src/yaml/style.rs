//! How a scalar is written so that every reader reads the same.
//!
//! A plain scalar must mean its text under the YAML 1.2 core schema and to readers of YAML 1.1, which see
//! booleans in `yes`, octal numbers in `017` and base sixty in `1:30`.

use std::borrow::Cow;

use super::Scalar;
use super::emit::EmitNode;
use crate::shown::{all_visible, is_visible};

/// A string: plain where every reader reads it so, a literal block for text of several lines that shows all
/// it has, double-quoted otherwise.
pub fn string(text: &str) -> EmitNode<'_> {
    if is_plain(text) {
        return EmitNode::Line(Cow::Borrowed(text));
    }
    literal(text).unwrap_or_else(|| EmitNode::Line(Cow::Owned(double_quoted(text))))
}

/// A string that has one line to itself: a key, or an item in flow style.
pub fn key(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(double_quoted(text)) }
}

/// Whether a text can stand without quotes in block style.
pub fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let indicator = r#"-?:,[]{}#&*!|>'"%@`=<~+."#.contains(first);
    !indicator
        && !first.is_whitespace()
        && !text.ends_with(char::is_whitespace)
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
        && all_visible(text)
        && !is_word_of_a_schema(text)
        && !(first.is_ascii_digit() && may_be_a_number(text))
        && matches!(Scalar::resolve(text), Scalar::String(_))
}

/// Words that one version of YAML or another takes for a boolean or for nothing.
fn is_word_of_a_schema(text: &str) -> bool {
    const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether a text that starts with a digit has nothing in it that no number, date or time has.
fn may_be_a_number(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_ascii_digit()
            || matches!(c, 'a'..='f' | 'A'..='F' | 'x' | 'X' | 'o' | 'O' | 't' | 'T' | 'z' | 'Z')
            || matches!(c, '_' | '.' | ':' | '-' | '+' | ',' | ' ')
    })
}

/// A literal block, or `None` when something in the text would not show there.
fn literal(text: &str) -> Option<EmitNode<'_>> {
    let body = text.trim_end_matches('\n');
    if body.is_empty() || !text.contains('\n') {
        return None;
    }
    let shows = |line: &str| all_visible(line) && !line.ends_with(char::is_whitespace);
    if !body.split('\n').all(shows) {
        return None;
    }
    let kept = text.len() - body.len();
    let mut lines: Vec<_> = body.split('\n').map(Cow::Borrowed).collect();
    lines.extend((1..kept).map(|_| Cow::Borrowed("")));
    Some(EmitNode::Block { header: header('|', &lines, kept), lines })
}

/// The header of a block scalar with these lines, whose text ends in that many line feeds.
pub fn header(indicator: char, lines: &[Cow<'_, str>], line_feeds: usize) -> String {
    let mut header = String::from(indicator);
    // Readers find the indentation at the first line that has text, and must not find more than there is.
    let first = lines.iter().find(|line| !line.is_empty());
    if first.is_some_and(|line| line.starts_with(' ')) {
        header.push('2');
    }
    match line_feeds {
        0 => header.push('-'),
        1 => {}
        _ => header.push('+'),
    }
    header
}

/// A text in double quotes, on one line, with an escape for everything that does not show.
pub fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    let mut before = None;
    for next in text.chars() {
        match next {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            next if is_visible(before, next) => quoted.push(next),
            next => escape(next, &mut quoted),
        }
        before = Some(next);
    }
    quoted.push('"');
    quoted
}

/// An escape that YAML and, below U+10000, JSON understand.
pub fn escape(c: char, out: &mut String) {
    use std::fmt::Write;
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a string cannot fail.
        c if (c as u32) < 0x10000 => drop(write!(out, "\\u{:04x}", c as u32)),
        c => drop(write!(out, "\\U{:08x}", c as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_any_reader_would_take_for_something_else_is_quoted() {
        let words = ["", "~", "null", "Yes", "no", "ON", "off", "y", "N", "true", "False", "=", "<<"];
        let numbers = [
            "017", "1_000", "0x1F", "0o17", "0b1", "1:30", "1e3", ".5", "-1", "+1", ".inf", "-.inf", ".nan",
            "0",
        ];
        let times = ["12:30:45.5", "2026-11-15", "2026-11-15T10:00:00Z", "2026-11-15 10:00:00 +1"];
        let marks = [
            "- a", "-", "---", "...", "? a", ": a", "a: b", "a:", "a #b", "#a", "[a", "]", "{{a}}", "*a",
            "&a", "!a", "|", ">", "%a", "@a", "`a", "'a", "\"a",
        ];
        let hidden = [" a", "a ", "\ta", "a\u{200b}b", "\u{feff}a", "a\u{85}b", "a\nb"];
        for text in words.iter().chain(&numbers).chain(&times).chain(&marks).chain(&hidden) {
            assert!(!is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn what_all_readers_read_alike_is_plain() {
        for text in [
            "mcp_server",
            "tools/list",
            "tools[*].description",
            "https://example.com/a?b=c#d",
            "30s",
            "5m",
            "it's a \"test\"",
            "\\d+(passwd|shadow)",
            "a,b",
            "翻訳ツール",
            "yes sir",
            "notify",
            "$.a",
            "(a)",
            "/etc/passwd",
            "a:b",
            "a#b",
            "3 rules of 4",
        ] {
            assert!(is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn hidden_characters_become_escapes() {
        assert_eq!(
            double_quoted("a\u{200b}\u{202e}\"\\\n\u{1b}\u{e0041}é"),
            r#""a\u200b\u202e\"\\\n\u001b\U000e0041é""#
        );
    }
}

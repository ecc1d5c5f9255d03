//! Which part of a pattern is what, for whoever colours it. Works on broken patterns too.

use std::ops::Range;

use super::cursor::Cursor;

/// What a piece of a pattern is. Characters that stand for themselves are none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexToken {
    /// `\d`, `\.`, `\x41`, `\Q…\E`.
    Escape,
    /// `[…]`, or `.`.
    Class,
    /// `(`, `(?:`, `(?i)`, `)`.
    Group,
    /// `*`, `+?`, `{2,3}`.
    Repeat,
    /// `^` and `$`.
    Anchor,
    /// `|`.
    Alternation,
}

/// `{1000,1000}` is the longest count that RE2 takes.
const LONGEST_COUNT: usize = 12;

/// The pieces of a pattern that do not stand for themselves, in the order they are written.
///
/// ```
/// use sortie_expr::re2::{RegexToken, highlight};
///
/// assert_eq!(highlight(r"^a\d+"), [
///     (0..1, RegexToken::Anchor),
///     (2..4, RegexToken::Escape),
///     (4..5, RegexToken::Repeat),
/// ]);
/// ```
pub fn highlight(pattern: &str) -> Vec<(Range<usize>, RegexToken)> {
    let mut cursor = Cursor::new(pattern);
    let mut found = Vec::new();
    while let Some(first) = cursor.next() {
        let start = cursor.at() - first.len_utf8();
        let token = match first {
            '\\' => {
                escape(&mut cursor);
                RegexToken::Escape
            }
            '[' => {
                class(&mut cursor);
                RegexToken::Class
            }
            '.' => RegexToken::Class,
            '(' => {
                if cursor.looking_at("?") {
                    cursor.take_while(|c| !matches!(c, ':' | '>' | ')' | '('));
                    let _ = cursor.eat(":") || cursor.eat(">") || cursor.eat(")");
                }
                RegexToken::Group
            }
            ')' => RegexToken::Group,
            '|' => RegexToken::Alternation,
            '^' | '$' => RegexToken::Anchor,
            '*' | '+' | '?' => {
                cursor.eat("?");
                RegexToken::Repeat
            }
            '{' => {
                // What counts nothing stands for itself.
                let braces = cursor.rest().bytes().take(LONGEST_COUNT).position(|byte| byte == b'}');
                let Some(inside) = braces.and_then(|end| cursor.rest().get(..end)) else { continue };
                if !counts(inside) {
                    continue;
                }
                cursor.until("}");
                cursor.eat("?");
                RegexToken::Repeat
            }
            _ => continue,
        };
        found.push((start..cursor.at(), token));
    }
    found
}

fn escape(cursor: &mut Cursor<'_>) {
    match cursor.next() {
        Some('Q') if cursor.until("\\E").is_none() => {
            cursor.take_while(|_| true);
        }
        Some('x' | 'p' | 'P') if cursor.looking_at("{") => {
            cursor.take_while(|c| c != '}');
            cursor.eat("}");
        }
        Some('x') => {
            for _ in 0..2 {
                if cursor.peek().is_some_and(|digit| digit.is_ascii_hexdigit()) {
                    cursor.next();
                }
            }
        }
        Some('p' | 'P') => _ = cursor.next(),
        _ => {}
    }
}

/// Up to the bracket that closes a class: the first character may be one itself, `[:alpha:]` has two.
fn class(cursor: &mut Cursor<'_>) {
    cursor.eat("^");
    cursor.eat("]");
    while let Some(next) = cursor.next() {
        match next {
            ']' => return,
            '\\' => _ = cursor.next(),
            '[' if cursor.looking_at(":") => _ = cursor.until_class_end(),
            _ => {}
        }
    }
}

/// Whether the text between braces is a count: `2`, `2,` or `2,3`.
fn counts(text: &str) -> bool {
    let (least, most) = text.split_once(',').unwrap_or((text, ""));
    !least.is_empty() && least.bytes().chain(most.bytes()).all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_found_in_patterns_that_are_whole_and_in_broken_ones() {
        for (pattern, expected) in [
            (r"(?i)api[_\]-]key{2,}?", "(?i) [_\\]-] {2,}?"),
            (r"a{x}|\Q*.\E|\x{1F600}\pL", "| \\Q*.\\E | \\x{1F600} \\pL"),
            ("(?:é|[^]a])+$", "(?: | [^]a] ) + $"),
            ("[[:alpha:]]b", "[[:alpha:]]"),
            ("([ab", "( [ab"),
            ("ab\\", "\\"),
            ("(?P<n", "(?P<n"),
        ] {
            let found: Vec<_> = highlight(pattern).into_iter().map(|(range, _)| &pattern[range]).collect();
            assert_eq!(found.join(" "), expected, "{pattern}");
        }
    }
}

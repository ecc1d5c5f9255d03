//! Which part of an expression is what, for whoever colours it. Works on broken expressions too.

use std::ops::Range;

use super::lexer::{Lexer, Token, TokenKind};

/// What a piece of an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CelToken {
    /// A name from outside, or of a macro.
    Variable,
    /// A field of something.
    Property,
    /// A function, method or macro.
    Function,
    /// `in`, `true`, `false` or `null`.
    Keyword,
    /// A number.
    Number,
    /// A string or bytes.
    String,
    /// An operator.
    Operator,
    /// From `//` to the end of the line.
    Comment,
}

/// The pieces of an expression, in the order they are written. Characters that no token has are left out, and what follows them
/// is read as if they were blanks.
///
/// ```
/// use sortie_expr::cel::{CelToken, highlight};
///
/// let found = highlight("message.name == 'a'");
/// assert_eq!(found[0], (0..7, CelToken::Variable));
/// assert_eq!(found[1], (8..12, CelToken::Property));
/// assert_eq!(found[2], (13..15, CelToken::Operator));
/// ```
pub fn highlight(source: &str) -> Vec<(Range<usize>, CelToken)> {
    let mut found = Vec::new();
    let tokens = tokens(source, &mut found);
    for (at, token) in tokens.iter().enumerate() {
        let after_dot = at > 0 && tokens[at - 1].kind == TokenKind::Dot;
        let is_called = tokens.get(at + 1).is_some_and(|next| next.kind == TokenKind::OpenParen);
        let class = match &token.kind {
            TokenKind::Identifier if is_called => CelToken::Function,
            TokenKind::Identifier if after_dot => CelToken::Property,
            TokenKind::Identifier => CelToken::Variable,
            TokenKind::True | TokenKind::False | TokenKind::Null | TokenKind::In => CelToken::Keyword,
            TokenKind::Int(_) | TokenKind::UInt(_) | TokenKind::Double(_) => CelToken::Number,
            TokenKind::String(_) | TokenKind::Bytes(_) => CelToken::String,
            TokenKind::Comma
            | TokenKind::Dot
            | TokenKind::OpenParen
            | TokenKind::CloseParen
            | TokenKind::OpenBracket
            | TokenKind::CloseBracket
            | TokenKind::OpenBrace
            | TokenKind::CloseBrace
            | TokenKind::End => continue,
            _ => CelToken::Operator,
        };
        found.push((token.span.into(), class));
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// The tokens of what can be read. Comments between them go into `found`.
fn tokens(source: &str, found: &mut Vec<(Range<usize>, CelToken)>) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    let mut tokens = Vec::new();
    let mut end = 0;
    loop {
        match lexer.next_token() {
            Ok(token) => {
                let span: Range<usize> = token.span.into();
                comments(source, end..span.start, found);
                end = span.end;
                if token.kind == TokenKind::End {
                    return tokens;
                }
                tokens.push(token);
            }
            Err(_) => lexer.skip_character(),
        }
    }
}

fn comments(source: &str, gap: Range<usize>, found: &mut Vec<(Range<usize>, CelToken)>) {
    let mut at = gap.start;
    while let Some(start) = source[at..gap.end].find("//") {
        let start = at + start;
        let length = source[start..gap.end].find('\n').unwrap_or(gap.end - start);
        found.push((start..start + length, CelToken::Comment));
        at = start + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_expression_is_coloured_as_far_as_it_can_be_read() {
        let source = "size(a.b) > 2u // why\n && @ 'open";
        let found = highlight(source);
        let shown: Vec<_> = found.iter().map(|(range, class)| (&source[range.clone()], *class)).collect();
        assert_eq!(
            shown,
            [
                ("size", CelToken::Function),
                ("a", CelToken::Variable),
                ("b", CelToken::Property),
                (">", CelToken::Operator),
                ("2u", CelToken::Number),
                ("// why", CelToken::Comment),
                ("&&", CelToken::Operator),
                ("open", CelToken::Variable),
            ]
        );
    }
}

//! Source text to tokens.

use super::literal;
use super::syntax::{Span, SyntaxError};

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// What a token is. Identifiers are read from the source by their span.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Identifier,
    True,
    False,
    Null,
    /// Magnitude only: the parser applies the sign, since `-9223372036854775808` is a literal.
    Int(u64),
    UInt(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
    In,
    Equal,
    NotEqual,
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    AndAnd,
    OrOr,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Bang,
    Question,
    Colon,
    Comma,
    Dot,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    End,
}

/// All tokens of `source`, ending with [`TokenKind::End`].
pub(super) fn tokenize(source: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut lexer = Lexer::new(source);
    let mut tokens = Vec::with_capacity(source.len() / 4 + 2);
    loop {
        let token = lexer.next_token()?;
        let ended = token.kind == TokenKind::End;
        tokens.push(token);
        if ended {
            return Ok(tokens);
        }
    }
}

pub(super) struct Lexer<'s> {
    source: &'s str,
    offset: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, offset: 0 }
    }

    /// Goes on behind a character that begins no token.
    pub(super) fn skip_character(&mut self) {
        self.offset += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    fn rest(&self) -> &'s str {
        &self.source[self.offset..]
    }

    pub(super) fn next_token(&mut self) -> Result<Token, SyntaxError> {
        self.skip_blanks();
        let start = self.offset;
        let rest = self.rest();
        let kind = match rest.bytes().next() {
            None => TokenKind::End,
            Some(first) => {
                if let Some(string) = literal::string(rest, start)? {
                    self.offset += string.length;
                    string.kind
                } else if first.is_ascii_alphabetic() || first == b'_' {
                    self.word()
                } else if starts_number(rest) {
                    let (kind, length) = literal::number(rest, start)?;
                    self.offset += length;
                    kind
                } else {
                    self.symbol()?
                }
            }
        };
        Ok(Token { kind, span: Span::new(start, self.offset) })
    }

    /// Skips white space and comments, which run from `//` to the end of the line.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let text = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
            self.offset += rest.len() - text.len();
            if !text.starts_with("//") {
                return;
            }
            self.offset += text.find('\n').unwrap_or(text.len());
        }
    }

    fn word(&mut self) -> TokenKind {
        let rest = self.rest();
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        self.offset += length;
        match &rest[..length] {
            "in" => TokenKind::In,
            "true" => TokenKind::True,
            "false" => TokenKind::False,
            "null" => TokenKind::Null,
            _ => TokenKind::Identifier,
        }
    }

    fn symbol(&mut self) -> Result<TokenKind, SyntaxError> {
        // Longer symbols stand before their prefixes.
        const SYMBOLS: [(&str, TokenKind); 24] = [
            ("==", TokenKind::Equal),
            ("!=", TokenKind::NotEqual),
            ("<=", TokenKind::LessOrEqual),
            (">=", TokenKind::GreaterOrEqual),
            ("&&", TokenKind::AndAnd),
            ("||", TokenKind::OrOr),
            ("<", TokenKind::Less),
            (">", TokenKind::Greater),
            ("+", TokenKind::Plus),
            ("-", TokenKind::Minus),
            ("*", TokenKind::Star),
            ("/", TokenKind::Slash),
            ("%", TokenKind::Percent),
            ("!", TokenKind::Bang),
            ("?", TokenKind::Question),
            (":", TokenKind::Colon),
            (",", TokenKind::Comma),
            (".", TokenKind::Dot),
            ("(", TokenKind::OpenParen),
            (")", TokenKind::CloseParen),
            ("[", TokenKind::OpenBracket),
            ("]", TokenKind::CloseBracket),
            ("{", TokenKind::OpenBrace),
            ("}", TokenKind::CloseBrace),
        ];
        let rest = self.rest();
        let known = SYMBOLS.into_iter().find(|(text, _)| rest.starts_with(text));
        if let Some((text, kind)) = known {
            self.offset += text.len();
            return Ok(kind);
        }
        Err(unknown_character(rest, self.offset))
    }
}

fn starts_number(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    match bytes.next() {
        Some(b'.') => bytes.next().is_some_and(|b| b.is_ascii_digit()),
        Some(first) => first.is_ascii_digit(),
        None => false,
    }
}

fn unknown_character(rest: &str, offset: usize) -> SyntaxError {
    // The caller has seen a first byte, so there is a first character.
    let character = rest.chars().next().unwrap_or_default();
    let span = Span::new(offset, offset + character.len_utf8());
    let error = SyntaxError::new(format!("unexpected character `{}`", character.escape_default()), span);
    match character {
        '=' => error.help("equality is `==`"),
        '&' => error.help("a logical and is `&&`"),
        '|' => error.help("a logical or is `||`"),
        '`' => error.help("a field whose name is not an identifier is read with brackets: `message['a-b']`"),
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => {
            error.help("strings are quoted with plain `'` or `\"`")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind> {
        tokenize(source).unwrap().into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn comments_and_blanks_are_skipped() {
        use TokenKind::{End, Identifier, Int, Plus};
        assert_eq!(kinds("a // one\n + \t 2 // two"), [Identifier, Plus, Int(2), End]);
    }

    #[test]
    fn a_prefix_belongs_to_a_string_only_before_a_quote() {
        use TokenKind::{Bytes, Dot, End, Identifier, String};
        assert_eq!(
            kinds(r"r'\n' b'x' br'\x' r.b"),
            [
                String(r"\n".into()),
                Bytes((*b"x").into()),
                Bytes((*br"\x").into()),
                Identifier,
                Dot,
                Identifier,
                End
            ]
        );
    }

    #[test]
    fn the_span_of_a_bad_character_counts_bytes() {
        let error = tokenize("'é' ==\n 'ü' + €").unwrap_err();
        assert_eq!(error.span, Some(16..19));
    }
}

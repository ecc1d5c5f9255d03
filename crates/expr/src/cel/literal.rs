//! String, bytes and number literals.

use super::lexer::TokenKind;
use super::syntax::{Span, SyntaxError};

/// A string or bytes literal and how many bytes of source it took.
pub(super) struct StringLiteral {
    pub(super) kind: TokenKind,
    pub(super) length: usize,
}

/// Reads the literal at the start of `rest`, or `None` when there is none. `offset` is where `rest`
/// starts in the source.
pub(super) fn string(rest: &str, offset: usize) -> Result<Option<StringLiteral>, SyntaxError> {
    let (prefix, is_bytes, is_raw) = match rest.as_bytes() {
        [b'b' | b'B', b'r' | b'R', b'"' | b'\'', ..] => (2, true, true),
        [b'b' | b'B', b'"' | b'\'', ..] => (1, true, false),
        [b'r' | b'R', b'"' | b'\'', ..] => (1, false, true),
        [b'"' | b'\'', ..] => (0, false, false),
        _ => return Ok(None),
    };
    let quoted = &rest[prefix..];
    let quote =
        [r#"""""#, "'''", "\"", "'"].into_iter().find(|quote| quoted.starts_with(quote)).unwrap_or("'");
    let body_start = prefix + quote.len();
    let body_length = find_end(&rest[body_start..], quote, is_raw).ok_or_else(|| {
        let error =
            SyntaxError::new("this string has no closing quote", Span::new(offset, offset + body_start));
        if quote.len() == 1 && rest.contains('\n') {
            error.help("a string over several lines is written between triple quotes")
        } else {
            error
        }
    })?;
    let body = &rest[body_start..body_start + body_length];
    let body_offset = offset + body_start;
    let bytes = if is_raw { body.into() } else { unescape(body, body_offset, is_bytes)? };
    let kind = if is_bytes {
        TokenKind::Bytes(bytes.into())
    } else {
        // Text and whole characters are UTF-8.
        TokenKind::String(String::from_utf8(bytes).unwrap_or_default().into())
    };
    Ok(Some(StringLiteral { kind, length: body_start + body_length + quote.len() }))
}

/// Where the closing quote starts. A backslash protects the next character, except in raw strings.
fn find_end(body: &str, quote: &str, is_raw: bool) -> Option<usize> {
    let bytes = body.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(quote.as_bytes()) {
            return Some(at);
        }
        match bytes[at] {
            b'\\' if !is_raw => at += 2,
            b'\n' | b'\r' if quote.len() == 1 => return None,
            _ => at += 1,
        }
    }
    None
}

/// One step of reading a literal's body.
enum Piece<'s> {
    Text(&'s str),
    /// `\x41`, `\101`: a code point in a string, a byte in bytes.
    Code(u8),
    /// `\n`: a character in both.
    Character(char),
    /// `\u00e9`: a character in a string only.
    CodePoint(char),
}

fn unescape(body: &str, offset: usize, is_bytes: bool) -> Result<Vec<u8>, SyntaxError> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut has_code_point = false;
    pieces(body, offset, |piece| {
        let character = match piece {
            Piece::Text(part) => return bytes.extend_from_slice(part.as_bytes()),
            Piece::Code(code) if is_bytes => return bytes.push(code),
            Piece::Code(code) => char::from(code),
            Piece::Character(character) => character,
            Piece::CodePoint(character) => {
                has_code_point = true;
                character
            }
        };
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    })?;
    if is_bytes && has_code_point {
        let span = Span::new(offset, offset + body.len());
        return Err(SyntaxError::new("bytes have no `\\u` escape", span)
            .help("write the bytes as `\\xc3\\xa9`, or the character itself"));
    }
    Ok(bytes)
}

fn pieces(body: &str, offset: usize, mut take: impl FnMut(Piece<'_>)) -> Result<(), SyntaxError> {
    let mut rest = body;
    while let Some(start) = rest.find('\\') {
        take(Piece::Text(&rest[..start]));
        let escape = &rest[start..];
        let (piece, length) = escape_sequence(escape).ok_or_else(|| {
            let at = offset + (body.len() - escape.len());
            let length = escape.chars().take(2).map(char::len_utf8).sum::<usize>();
            SyntaxError::new(
                format!("unknown escape `{}` in a string", &escape[..length]),
                Span::new(at, at + length),
            )
            .help("a backslash itself is written `\\\\`, or the string raw: `r'\\d'`")
        })?;
        take(piece);
        rest = &escape[length..];
    }
    take(Piece::Text(rest));
    Ok(())
}

fn escape_sequence(escape: &str) -> Option<(Piece<'static>, usize)> {
    let letter = escape.chars().nth(1)?;
    let simple = match letter {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '\\' | '?' | '"' | '\'' | '`' => letter,
        'x' | 'X' => return Some((Piece::Code(digits(escape, 2, 2, 16)?.try_into().ok()?), 4)),
        '0'..='3' => return Some((Piece::Code(digits(escape, 1, 3, 8)?.try_into().ok()?), 4)),
        'u' => return Some((code_point(digits(escape, 2, 4, 16)?)?, 6)),
        'U' => return Some((code_point(digits(escape, 2, 8, 16)?)?, 10)),
        _ => return None,
    };
    Some((Piece::Character(simple), 2))
}

fn code_point(code: u32) -> Option<Piece<'static>> {
    char::from_u32(code).map(Piece::CodePoint)
}

fn digits(escape: &str, start: usize, count: usize, radix: u32) -> Option<u32> {
    let text = escape.get(start..start + count)?;
    // `from_str_radix` would accept a sign.
    if text.chars().all(|c| c.is_digit(radix)) { u32::from_str_radix(text, radix).ok() } else { None }
}

/// Reads the number at the start of `rest`, which starts with a digit or with a dot and a digit.
pub(super) fn number(rest: &str, offset: usize) -> Result<(TokenKind, usize), SyntaxError> {
    let bytes = rest.as_bytes();
    let run = |from: usize, accept: fn(&u8) -> bool| bytes[from..].iter().take_while(|b| accept(b)).count();
    let is_hex = bytes[0] == b'0'
        && matches!(bytes.get(1), Some(b'x' | b'X'))
        && bytes.get(2).is_some_and(u8::is_ascii_hexdigit);
    let mut end = if is_hex { 2 + run(2, u8::is_ascii_hexdigit) } else { run(0, u8::is_ascii_digit) };
    let mut is_double = false;
    if !is_hex {
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            is_double = true;
            end += 1 + run(end + 1, u8::is_ascii_digit);
        }
        if let Some(length) = exponent(&bytes[end..]) {
            is_double = true;
            end += length;
        }
    }
    let text = &rest[..end];
    let out_of_range = |end| SyntaxError::new("this number is out of range", Span::new(offset, offset + end));
    if is_double {
        let value: f64 = text.parse().map_err(|_| out_of_range(end))?;
        if value.is_infinite() {
            return Err(out_of_range(end));
        }
        return Ok((TokenKind::Double(value), end));
    }
    let magnitude = if is_hex { u64::from_str_radix(&text[2..], 16) } else { text.parse() }
        .map_err(|_| out_of_range(end))?;
    if matches!(bytes.get(end), Some(b'u' | b'U')) {
        Ok((TokenKind::UInt(magnitude), end + 1))
    } else {
        Ok((TokenKind::Int(magnitude), end))
    }
}

/// Length of the exponent at the start of `bytes`, if there is one.
fn exponent(bytes: &[u8]) -> Option<usize> {
    let sign = match bytes {
        [b'e' | b'E', b'+' | b'-', ..] => 2,
        [b'e' | b'E', ..] => 1,
        _ => return None,
    };
    let digits = bytes[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0).then_some(sign + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        match string(source, 0).unwrap().unwrap().kind {
            TokenKind::String(text) => text.into(),
            other => panic!("{source} is {other:?}"),
        }
    }

    #[test]
    fn escapes_name_code_points() {
        assert_eq!(text(r"'\x41\101\u00e9\U0001f600\n\'\`'"), "AAé😀\n'`");
        assert_eq!(text("'''it's\ntwo lines'''"), "it's\ntwo lines");
        assert_eq!(text(r#"r"\d+""#), r"\d+");
    }

    #[test]
    fn an_unknown_escape_is_located() {
        let error = string(r"'ab\q'", 10).err().unwrap();
        assert_eq!(error.span, Some(13..15));
        for bad in [r"'\ud800'", r"'\x4'", r"'\400'", r"'\u+123'", r"'\"] {
            assert!(string(bad, 0).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_take_as_much_as_the_grammar_allows() {
        let read = |source| number(source, 0).unwrap();
        assert_eq!(read("12.foo"), (TokenKind::Int(12), 2));
        assert_eq!(read("0x1F"), (TokenKind::Int(31), 4));
        assert_eq!(read("7u)"), (TokenKind::UInt(7), 2));
        assert_eq!(read(".5e1"), (TokenKind::Double(5.0), 4));
        assert_eq!(read("1e+2x"), (TokenKind::Double(100.0), 4));
        assert_eq!(read("1e+"), (TokenKind::Int(1), 1));
        assert!(number("99999999999999999999", 0).is_err());
        assert!(number("1e999", 0).is_err());
    }
}

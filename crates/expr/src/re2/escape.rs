//! Escapes that stand for one character: `\n`, `\x{1F600}`, `\101`, `\.`.

use super::cursor::Cursor;
use super::error::Re2Error;

/// The largest code point.
const LAST: u32 = 0x0010_FFFF;

/// Reads an escape that stands for one code point; the cursor is at its backslash.
///
/// The code point may be a surrogate: RE2 accepts those, and they match nothing in valid text.
pub(super) fn code_point(cursor: &mut Cursor<'_>) -> Result<u32, Re2Error> {
    let start = cursor.at();
    cursor.next();
    let Some(c) = cursor.next() else {
        return Err(Re2Error::new(cursor.since(start), "a backslash ends the pattern")
            .help("write `\\\\` for a backslash itself"));
    };
    match c {
        // One digit alone would be a backreference; with a second octal digit it is a character.
        '1'..='7' if !cursor.peek().is_some_and(|c| c.is_digit(8)) => Err(unknown(cursor, start, c)),
        '0'..='7' => Ok(octal(cursor, c)),
        'x' => hexadecimal(cursor, start),
        'a' => Ok(0x07),
        'f' => Ok(0x0C),
        'n' => Ok(0x0A),
        'r' => Ok(0x0D),
        't' => Ok(0x09),
        'v' => Ok(0x0B),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(u32::from(c)),
        c => Err(unknown(cursor, start, c)),
    }
}

/// Up to three octal digits, the first of which has been read.
fn octal(cursor: &mut Cursor<'_>, first: char) -> u32 {
    let mut value = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        match cursor.peek().and_then(|c| c.to_digit(8)) {
            Some(d) => value = value * 8 + d,
            None => break,
        }
        cursor.next();
    }
    value
}

/// `\xHH` or `\x{H...}`, after the `x`.
fn hexadecimal(cursor: &mut Cursor<'_>, start: usize) -> Result<u32, Re2Error> {
    let malformed = |cursor: &Cursor<'_>| {
        Re2Error::new(cursor.since(start), "`\\x` needs two hexadecimal digits, or any number in braces")
            .help("write `\\x1F` or `\\x{1F600}`")
    };
    if !cursor.eat("{") {
        let mut value = 0;
        for _ in 0..2 {
            let Some(d) = cursor.peek().and_then(|c| c.to_digit(16)) else {
                return Err(malformed(cursor));
            };
            value = value * 16 + d;
            cursor.next();
        }
        return Ok(value);
    }
    let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
    if digits.is_empty() || !cursor.eat("}") {
        return Err(malformed(cursor));
    }
    // Any number of leading zeros is fine, so the digits are summed up with a ceiling rather than parsed as
    // a `u32`.
    let value =
        digits.chars().filter_map(|c| c.to_digit(16)).fold(0, |value, d| (value * 16 + d).min(LAST + 1));
    if value > LAST {
        return Err(Re2Error::new(
            cursor.since(start),
            "there is no such character: the last one is `\\x{10FFFF}`",
        ));
    }
    Ok(value)
}

/// An escape that RE2 does not have, with advice for those that other dialects do.
fn unknown(cursor: &Cursor<'_>, start: usize, c: char) -> Re2Error {
    let span = cursor.since(start);
    if matches!(c, '1'..='9' | 'k' | 'g') {
        return Re2Error::new(span, "backreferences are not part of RE2")
            .help("match the repeated text here, and compare the two with a CEL expression");
    }
    let help = match c {
        'Z' => "use `\\z` for the end of the text, or `\\n?\\z` to allow a last newline",
        'u' | 'U' => "write the character itself, or `\\x{...}`",
        'e' => "write `\\x1B` for the escape character",
        'c' => "write control characters as `\\x01` to `\\x1F`",
        'h' => "use `[ \\t]`",
        'H' => "use `[^ \\t]`",
        'R' => "use `(?:\\r\\n|\\n|\\r)`",
        'N' => "use `[^\\n]`",
        'V' => "use `[^\\n\\r]`",
        'X' => "use `\\PM\\pM*` for a character with its marks",
        'K' => "put the part to keep in a group",
        'G' => "a search starts only once, so `\\A` may be meant",
        'E' => "`\\E` only ends what `\\Q` begins",
        'y' | 'm' | 'M' => "use `\\b` for a word boundary",
        'b' | 'B' | 'A' | 'z' | 'C' | 'Q' | 'p' | 'P' | 'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
            return Re2Error::new(
                span,
                format!(
                    "`\\{c}` cannot stand here: brackets hold single characters and classes, and a range ends in characters"
                ),
            );
        }
        c if c.is_alphanumeric() => "leave out the backslash to match the character itself",
        _ => "only ASCII punctuation can be escaped: leave out the backslash",
    };
    Re2Error::new(span, format!("`\\{}` is not an escape in RE2", c.escape_debug())).help(help)
}

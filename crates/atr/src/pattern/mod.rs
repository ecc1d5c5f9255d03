//! Regular expressions of JavaScript, as patterns of RE2 that find the same texts.
//!
//! | JavaScript, as the engine of the rules compiles it | RE2 |
//! |---|---|
//! | the flag `i`, whatever `(?i)`, `(?im)` or `(?s)` stands in front | `(?i)` |
//! | the flag `u`, where the pattern has `\u{` or `\p{` | characters are whole in any case |
//! | `.` | not `\n`, `\r`, U+2028, U+2029 |
//! | `\s` | all white space of Unicode, and U+FEFF |
//! | `\d`, `\w`, `\b` | ASCII in both |
//! | `$`, `^` | the end and the start of the text: there is no flag `m` |
//! | `[^]`, `[]`, `\u00e9`, `\/`, `{` that counts nothing | what they mean |
//! | counts beyond 1000 | several counts |
//!
//! Two differences stay. Without the flag `u`, `.{0,40}` counts UTF-16 code units, so a character beyond U+FFFF counts twice; here it
//! counts once. And U+212A and U+017F are `k` and `s` here when case does not count. (The engine of the rules replaces both before it
//! looks, so it finds the same.)

mod error;
mod look;
mod node;
mod parse;
mod set;
mod write;

use sortie_expr::re2;

pub use error::{PatternError, PatternErrorKind};

/// A pattern of RE2 that matches a text if, and only if, this JavaScript pattern does.
///
/// ```
/// use sortie_atr::{PatternErrorKind, translate};
///
/// assert_eq!(translate(r"(?i)\u0069gnore.{0,5}\/etc").unwrap(), r"(?i)ignore[^\n\r\x{2028}\x{2029}]{0,5}/etc");
/// assert_eq!(translate(r"(a)\1").unwrap_err().kind, PatternErrorKind::BackReference);
/// ```
pub fn translate(pattern: &str) -> Result<String, PatternError> {
    let (pattern, offset) = without_flags(pattern);
    let unicode = pattern.contains("\\u{") || pattern.contains("\\p{");
    let shifted = |mut error: PatternError| {
        error.span = error.span.start + offset..error.span.end + offset;
        error
    };
    let node = parse::parse(pattern, unicode).map_err(shifted)?;
    let has_look = node.has_look();
    let node = if has_look {
        look::without_looks(&node).ok_or_else(|| {
            let looks = ["(?=", "(?!", "(?<=", "(?<!"];
            let at = looks.iter().filter_map(|look| pattern.find(look)).min().unwrap_or(0);
            let message = "this look-around cannot be taken out exactly";
            shifted(PatternError::new(PatternErrorKind::LookAround, at..at + 3, message))
        })?
    } else {
        node
    };
    let written = write::write(&node);
    match re2::check(&written) {
        Ok(_) => Ok(written),
        Err(error) => {
            let span = 0..pattern.len();
            let (kind, message) = if has_look {
                (PatternErrorKind::LookAround, "without its look-around, the pattern is too large".to_owned())
            } else {
                (PatternErrorKind::TooLarge, error.message)
            };
            Err(shifted(PatternError::new(kind, span, message)))
        }
    }
}

/// The pattern without the flags in front of it, and how long they are. The engine of the rules drops them, whatever they are.
fn without_flags(pattern: &str) -> (&str, usize) {
    let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match flags {
        Some((flags, rest)) if !flags.is_empty() && flags.bytes().all(|flag| b"imsx".contains(&flag)) => {
            (rest, pattern.len() - rest.len())
        }
        _ => (pattern, 0),
    }
}

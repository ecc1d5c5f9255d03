//! Regular expressions exactly as RE2 reads them, on Rust's linear-time engine.
//!
//! Rust's `regex` is close, and close is the dangerous case: `\d` and `\w`
//! match far more there, `[a&&b]` means something else, `\<` is a word boundary, `{{name}}` is an error. So
//! this module has its own parser. It follows RE2's default options (UTF-8, Perl syntax, leftmost-first),
//! and builds the engine's syntax tree directly, without going through pattern text again.
//!
//! What RE2 refuses is refused, and what it accepts matches the same bytes. Where that cannot be promised,
//! the pattern is refused with [`Re2ErrorKind::Unsupported`], [`TooLarge`](Re2ErrorKind::TooLarge),
//! [`TooLong`](Re2ErrorKind::TooLong) or [`TooDeep`](Re2ErrorKind::TooDeep); nothing differs silently:
//!
//! - `\C` (one byte, perhaps half a character) is refused: text here is always whole characters.
//! - A pattern is at most 64 KiB, its repeats nest about a hundred deep at most, and its compiled size is
//!   bounded. RE2 bounds only memory, so it takes some patterns that are refused here.
//!
//! Unicode tables are those of the RE2 this was measured against: Unicode 15.1. Characters that are newer
//! belong to no group and have no other case, whatever the engine's own tables know.
//!
//! The promise is tested against recorded verdicts of RE2 itself: `tests/it/re2_oracle.rs`.

mod bytes;
mod class;
mod cursor;
mod error;
mod escape;
mod example;
mod folded;
mod group;
mod highlight;
mod literals;
mod node;
mod parser;
mod regex;
mod repeat;
mod set;
mod unicode;

pub use self::bytes::{ByteCounts, ByteSet, RequiredBytes};
pub use self::error::{Re2Error, Re2ErrorKind};
pub use self::folded::FoldedText;
pub use self::highlight::{RegexToken, highlight};
pub use self::literals::{RequiredClause, RequiredTexts, TextPlace};
pub(crate) use self::regex::SMALL_SIZE;
pub use self::regex::{COMPILING, MAX_TOGETHER, Regex, check, cost, may_match_empty, size};
pub use self::set::RegexSet;

/// A pattern that matches a text as it is, and nothing else.
///
/// ```
/// use sortie_expr::re2::{Regex, quote};
///
/// assert_eq!(quote("a.b (c)"), r"a\.b \(c\)");
/// assert!(Regex::new(&quote("1+1=2?")).unwrap().is_match("is 1+1=2?"));
/// ```
pub fn quote(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_ascii_punctuation() && letter != '_' && letter != '-' {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

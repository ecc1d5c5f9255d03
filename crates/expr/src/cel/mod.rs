//! CEL, the Common Expression Language, over JSON messages.
//!
//! [`Program`] is an expression compiled once and evaluated on borrowed messages.
//!
//! # Language
//! The grammar, operators, macros (`has`, `all`, `exists`, `exists_one`, `map`, `filter`) and standard
//! functions of the CEL specification. A missing field is an error, which `||`, `&&`, `exists` and `all`
//! absorb when another operand decides. A missing variable is null.
//!
//! - standard functions: `size`, `contains`, `startsWith`, `endsWith`, `matches` (RE2), `int`, `uint`,
//!   `double`, `string`, `bool`, `bytes`, `dyn`, `type`, `timestamp`, `duration`, `getFullYear`,
//!   `getMonth`, `getDate`, `getDayOfMonth`, `getDayOfWeek`, `getDayOfYear`, `getHours`, `getMinutes`,
//!   `getSeconds`, `getMilliseconds` (UTC or a fixed offset such as `+02:00`; no named zones)
//! - strings, by code point: `charAt`, `indexOf`, `lastIndexOf`, `lowerAscii`, `upperAscii`, `replace`,
//!   `split`, `substring`, `trim`, `reverse`, `join`
//! - lists: `slice`, `flatten` (one level), `sort`, `distinct`, `reverse`
//!
//! Not supported, and [`CelErrorKind::Unsupported`] where reached: `format`, `strings.quote`, the
//! `math`, `sets`, `base64` and other namespaces, `cel.bind`, message construction `Type{…}`. Optional
//! syntax (`a.?b`) and escaped identifiers (`` a.`b-c` ``) are options of some implementations, not of
//! the standard, and are syntax errors.
//!
//! # Numbers
//! A JSON number is an `int` if it fits, else a `uint`, else a `double`. The three mix in comparisons and
//! equality, exactly; in arithmetic they do not, as the CEL specification has it.
//!
//! # Limits
//! Expressions and messages are hostile input: see [`limits`].

mod ast;
mod conversions;
mod evaluation;
mod fault;
mod fields;
mod functions;
mod highlight;
mod lexer;
pub mod limits;
mod lists;
mod literal;
mod number;
mod operations;
mod parser;
mod parts;
mod program;
mod strings;
mod syntax;
mod texts;
mod time;
mod value;

pub use fault::{CelError, CelErrorKind};
pub use fields::FieldAccess;
pub use highlight::{CelToken, highlight};
pub use parser::is_reserved;
pub use parts::{ExpressionPart, PartKind};
pub use program::Program;
pub use syntax::SyntaxError;

/// A text that stands in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLiteral {
    /// Its bytes of the source, quotes included.
    pub span: std::ops::Range<usize>,
    /// What it says.
    pub text: Box<str>,
}

/// The string literals of an expression, in the order they are written.
///
/// Whoever fills values into an expression writes other literals in their place ([`quoted`]): a value that is put into
/// the text of an expression could be read as a part of it.
///
/// # Errors
/// What has no tokens of CEL is refused, with the place.
pub fn string_literals(source: &str) -> Result<Vec<TextLiteral>, SyntaxError> {
    let tokens = lexer::tokenize(source)?.into_iter();
    Ok(tokens
        .filter_map(|token| match token.kind {
            lexer::TokenKind::String(text) => Some(TextLiteral { span: token.span.into(), text }),
            _ => None,
        })
        .collect())
}

/// A text as a string literal.
///
/// ```
/// assert_eq!(sortie_expr::cel::quoted("a\"b\n"), r#""a\"b\u000a""#);
/// ```
pub fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            letter if letter.is_control() => _ = write!(literal, "\\u{:04x}", u32::from(letter)), // a string takes it
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

//! Lays out a document's text anew, and keeps what it says and what is said about it.

mod comments;
mod layout;
mod scalar;
mod shape;

use std::borrow::Cow;

use sortie_oatf::parse;
use sortie_syntax::ParseError;
use sortie_syntax::yaml::{MAX_DOCUMENT_BYTES, Tree};

/// A text, laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    /// The text as it should be.
    pub text: String,
    /// Whether that differs from the text as it was.
    pub changed: bool,
}

/// Why a text was left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It cannot be read as a document.
    #[error("the text has errors: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Parse(Vec<ParseError>),
    /// A comment stands where the laid-out text has no place for it.
    #[error("{line}:{column}: formatting would lose the comment `{text}`; move it above the key")]
    Comment {
        /// Its line, from one.
        line: usize,
        /// Its column in characters, from one.
        column: usize,
        /// The comment, from its `#`.
        text: String,
    },
    /// Laid out, it would be longer than a document may be.
    #[error("the formatted document would have {bytes} bytes; the limit is {MAX_DOCUMENT_BYTES}")]
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// The result did not pass the checks that every result must pass. That is a mistake of ours.
    #[error("the formatted text would be a different document ({check}); please report this")]
    Unsound {
        /// What the result failed at.
        check: &'static str,
    },
}

/// Lays out a document as it was written: nothing is normalised, nothing is added.
///
/// - Fields stand in the order of the specification, `x-` fields behind the field they followed; pass-through
///   content (`state`, `params`, conditions, `x-` values) keeps the order of its keys.
/// - Block style with two columns a level, lists indented below their key. What the author wrote in flow style
///   stays so if it holds nothing but scalars, no comment, and fits into 100 columns.
/// - Scalars keep their style: blocks stay blocks, plain stays plain, digits stay digits. Single quotes become
///   double ones where that needs no escape; characters that do not show become escapes outside blocks.
/// - At most one blank line where there were some; no trailing space; `\n` at the end of every line.
/// - Comments stay with what they are about: above it, beside it, or at the end of the block they close.
///
/// Before the result is returned it is checked: it holds the same data, with the same comments, and formatting
/// it again changes nothing. Where that cannot be had there is an error, and never a damaged text.
///
/// ```
/// let text = "
/// oatf: '0.1'   # the only version
/// attack:
///     execution: {mode: mcp_server, state: {tools: []}}
///     ## what it is called
///     name: Rug pull
/// ";
/// assert_eq!(sortie_lint::format(text).unwrap().text, "\
/// oatf: \"0.1\"  # the only version
/// attack:
///   ## what it is called
///   name: Rug pull
///   execution:
///     mode: mcp_server
///     state: {tools: []}
/// ");
/// ```
pub fn format(text: &str) -> Result<Formatted, FormatError> {
    parse(text).map_err(FormatError::Parse)?;
    let source = unix_lines(text);
    let formatted = lay_out(&source)?;
    check(text, &source, &formatted)?;
    Ok(Formatted { changed: formatted != text, text: formatted })
}

/// The text without a byte order mark, with `\n` at the end of its lines, which is what YAML makes of them.
fn unix_lines(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') {
        return Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"));
    }
    Cow::Borrowed(text)
}

fn lay_out(source: &str) -> Result<String, FormatError> {
    layout::lay_out(&tree(source)?, source)
}

fn tree(source: &str) -> Result<Tree, FormatError> {
    match Tree::parse(source) {
        (Some(tree), findings) if findings.is_empty() => Ok(tree),
        _ => Err(FormatError::Unsound { check: "it cannot be read" }),
    }
}

fn check(original: &str, source: &str, formatted: &str) -> Result<(), FormatError> {
    let unsound = |check| Err(FormatError::Unsound { check });
    if formatted.len() > MAX_DOCUMENT_BYTES {
        return Err(FormatError::TooLong { bytes: formatted.len() });
    }
    let (before, after) = (tree(original)?, tree(formatted)?);
    if !shape::same_document(&before, &after) {
        return unsound("it says something else");
    }
    if comments::sorted_texts(source) != comments::sorted_texts(formatted) {
        return unsound("a comment is lost");
    }
    if lay_out(formatted).as_deref() != Ok(formatted) {
        return unsound("it would be laid out differently again");
    }
    Ok(())
}

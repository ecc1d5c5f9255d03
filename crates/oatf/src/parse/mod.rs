//! From text to [`Document`].
//!
//! The reader goes on after an error, with the most likely meaning in place of what is wrong: a misspelt
//! key is read as the key it resembles, a malformed object as an empty one. So one pass finds everything,
//! and validation of what was read can follow without reporting the same mistake again.

mod attack;
mod execution;
mod indicator;
mod reader;

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, ParseError, ParseErrorKind};
use crate::model::Document;
use crate::source::{Source, Span};
use crate::yaml::Tree;

pub use reader::{Field, Reader, is_null, listed};

/// What could be read of a text, and everything that is wrong with it.
pub(crate) struct Parsed {
    /// The document, as far as it could be read; `None` when there is no mapping to read from.
    pub(crate) document: Option<Document>,
    /// Errors, in the order of the source.
    pub(crate) findings: Vec<Diagnostic>,
}

pub(crate) fn read(text: &str) -> Parsed {
    let (tree, mut findings) = Tree::parse(text);
    let Some(tree) = tree else {
        return Parsed { document: None, findings };
    };
    let tree = Arc::new(tree);
    let mut reader = Reader::new(&tree);
    let document = reader.document();
    findings.append(&mut reader.finish());
    Diagnostic::sort(&mut findings);
    let document = document.map(|mut document| {
        document.origin.0 = Some(Arc::clone(&tree));
        document
    });
    Parsed { document, findings }
}

/// Parses a YAML text into a document, without judging what the document says.
///
/// Every error that can be found in one pass is returned, in the order of the source. A YAML syntax error
/// ends the pass, since what follows it has no structure.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   severity: extreme
///   execution: {mode: mcp_server, stat: {tools: []}}
/// ";
/// let errors = sortie_oatf::parse(text).unwrap_err();
/// assert_eq!(errors.len(), 2);
/// assert_eq!((errors[0].line, errors[0].path.as_deref()), (Some(4), Some("attack.severity")));
/// assert!(errors[1].message.contains("unknown field `stat`"));
/// ```
pub fn parse(input: &str) -> Result<Document, Vec<ParseError>> {
    let Parsed { document, findings } = read(input);
    match document {
        Some(document) if findings.is_empty() => Ok(document),
        _ => {
            let source = Source::new(input);
            Err(findings.into_iter().map(|finding| ParseError::new(finding, &source)).collect())
        }
    }
}

/// Parses bytes that may not be UTF-8, as files are.
pub fn parse_bytes(input: &[u8]) -> Result<Document, Vec<ParseError>> {
    parse(utf8(input).map_err(|error| vec![error])?)
}

/// The text of a file, or the error that says where it stops being text.
pub fn utf8(input: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(input).map_err(|error| {
        let valid = error.valid_up_to();
        // The prefix was just found to be valid, so nothing is replaced.
        let prefix = String::from_utf8_lossy(&input[..valid]);
        let finding = Diagnostic::parse(
            ParseErrorKind::Syntax,
            "P-002",
            format!("byte {valid} (0x{:02x}) is not UTF-8", input[valid]),
        )
        .at(Span::new(valid, valid))
        .help("save the file as UTF-8");
        ParseError::new(finding, &Source::new(prefix))
    })
}

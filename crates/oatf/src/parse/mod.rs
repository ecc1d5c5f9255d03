//! From text to [`Document`].
//!
//! The reader goes on after an error, with the most likely meaning in place of what is wrong: a misspelt
//! key is read as the key it resembles, a malformed object as an empty one. So one pass finds everything,
//! and validation of what was read can follow without reporting the same mistake again.

mod attack;
mod execution;
mod indicator;

use std::sync::Arc;

use sortie_syntax::yaml::{Entry, Node, Tree};
use sortie_syntax::{Diagnostic, Field, ParseError, Reader, Source, utf8};

pub(crate) use execution::action;
pub(crate) use indicator::{condition, pattern, predicate, variables};

use crate::model::fields::Object;
use crate::model::{Document, Extensions};

/// Readers of the parts of a document, for whatever holds one outside a document.
pub mod fragment {
    use sortie_syntax::Reader;
    use sortie_syntax::yaml::Node;

    pub use super::indicator::{condition, operator, predicate};
    use crate::model::fields::{Content, Object};
    use crate::model::{Extractor, Indicator, Phase, Trigger};

    /// An indicator.
    pub fn indicator<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Indicator {
        Indicator::read_any(reader, node)
    }

    /// An extractor.
    pub fn extractor<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Extractor {
        Extractor::read_any(reader, node)
    }

    /// A trigger; `None` where it is left empty.
    pub fn trigger<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Trigger> {
        Trigger::read(reader, node)
    }

    /// A list of phases.
    pub fn phases<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Vec<Phase>> {
        Vec::read(reader, node)
    }
}

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
    let document = attack::document(&mut reader);
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

/// Reads an object: `read` is called for the value of each field that is known, and `x-` fields are kept where they may stand.
/// Reports the fields that it needs and does not have. What is not an object is not asked for any.
pub(crate) fn object<'t, T: Object>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    mut read: impl FnMut(&mut T, &'static str, &mut Reader<'t>, Node<'t>),
) -> T {
    let mut object = T::default();
    let Some(entries) = reader.mapping(node, T::EXPECTED) else { return object };
    let mut given = Vec::new();
    let mut after = None;
    for entry in entries {
        match reader.field(entries, *entry, T::WHAT, T::NAMES, object.extensions().is_some()) {
            Field::Known(field) => {
                after = Some(field);
                if reader.is_given(*entry) {
                    given.push(field);
                }
                reader.under(*entry, |reader, node| read(&mut object, field, reader, node));
            }
            Field::Extension => {
                if let Some(extensions) = object.extensions_mut() {
                    extension(reader, *entry, after, extensions);
                }
            }
            Field::Unknown => {}
        }
    }
    let (rule, needed) = T::NEEDED;
    for (field, help) in needed.iter().filter(|(field, _)| !given.contains(field)) {
        reader.missing(node, rule, T::WHAT, field, help);
    }
    object
}

/// Keeps an `x-` field, remembering the field of the format it follows.
fn extension(reader: &mut Reader<'_>, entry: Entry, after: Option<&str>, into: &mut Extensions) {
    let value = reader.under(entry, Reader::value);
    into.push(reader.tree().key(entry), value, after);
}

//! What every field of every file has in common.

use sortie_syntax::yaml::{Entry, Node, NodeKind, Tree};
use sortie_syntax::{Diagnostic, Field, Reader, Span, is_null};

use crate::limits::MAX_NAME_BYTES;
use crate::rules::e001::{is_kebab_case, not_kebab_case};
use crate::rules::{e005, e010, e027, e109};

/// A kind of mapping: what it is called, what it looks like, its fields, and for those that it must have what to write.
pub(super) struct Mapping {
    pub(super) what: &'static str,
    pub(super) form: &'static str,
    pub(super) fields: &'static [&'static str],
    pub(super) required: &'static [(&'static str, &'static str)],
}

impl Mapping {
    /// Reads the fields of a mapping one by one, says which are missing, and gives the names of those that are given.
    pub(super) fn read<'t>(
        &self,
        reader: &mut Reader<'t>,
        node: Node<'t>,
        mut read: impl FnMut(&mut Reader<'t>, Entry, &'static str),
    ) -> Option<Vec<&'static str>> {
        let entries = reader.mapping(node, self.form)?;
        let mut given = Vec::new();
        for entry in entries {
            let Field::Known(field) = reader.field(entries, *entry, self.what, self.fields, false) else {
                continue;
            };
            if reader.is_given(*entry) {
                given.push(field);
            }
            read(reader, *entry, field);
        }
        self.require(reader, node, &given);
        Some(given)
    }

    /// Says which fields are missing.
    pub(super) fn require<'t>(&self, reader: &mut Reader<'t>, node: Node<'t>, given: &[&str]) {
        for (field, help) in self.required.iter().filter(|(field, _)| !given.contains(field)) {
            reader.missing(node, "P-010", self.what, field, help);
        }
    }
}

/// Parses a text that must be a mapping.
pub(super) fn parsed<T>(
    text: &str,
    read: impl for<'t> FnOnce(&mut Reader<'t>, Node<'t>) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let (tree, mut findings) = Tree::parse(text);
    let Some(tree) = tree else { return (None, findings) };
    let mut reader = Reader::new(&tree);
    let value = read(&mut reader, tree.root());
    findings.extend(reader.finish());
    Diagnostic::sort(&mut findings);
    (Some(value), findings)
}

/// A text that says something, below a key.
pub(super) fn text(reader: &mut Reader<'_>, entry: Entry, most: usize) -> Option<String> {
    reader.under(entry, |reader, node| text_of(reader, node, most))
}

pub(super) fn text_of<'t>(reader: &mut Reader<'t>, node: Node<'t>, most: usize) -> Option<String> {
    let text = reader.string(node)?;
    if text.trim().is_empty() {
        let at = reader.headline(node);
        reader.report(|_| e005::empty(at));
        return None;
    }
    if text.len() > most {
        let at = reader.headline(node);
        let length = text.len();
        reader.report(|_| e027::long_text(length, most, at));
        return None;
    }
    Some(text)
}

/// A one-line name, below a key.
pub(super) fn name(reader: &mut Reader<'_>, entry: Entry) -> Option<String> {
    text(reader, entry, MAX_NAME_BYTES)
}

/// What to underline for the value below a key.
pub(super) fn value_at(reader: &mut Reader<'_>, entry: Entry) -> Span {
    reader.under(entry, |reader, node| reader.headline(node))
}

/// An id or a tag at a node.
pub(super) fn kebab_case<'t>(reader: &mut Reader<'t>, node: Node<'t>, what: &str) -> Option<String> {
    if is_null(node) {
        return None;
    }
    let text = reader.string(node)?;
    if is_kebab_case(&text) {
        return Some(text);
    }
    let at = reader.headline(node);
    reader.report(|_| not_kebab_case(&text, what, at, node.span));
    None
}

/// A list below a key, of no more items than there may be, each with its place.
pub(super) fn list<'t, T>(
    reader: &mut Reader<'t>,
    entry: Entry,
    what: &str,
    most: usize,
    mut read: impl FnMut(&mut Reader<'t>, Node<'t>) -> Option<T>,
) -> Vec<(T, Span)> {
    reader.under(entry, |reader, node| {
        let length = match node.kind {
            NodeKind::Sequence(items) => items.len(),
            _ => 0,
        };
        if length > most {
            let at = reader.headline(node);
            reader.report(|_| e027::long_list(length, most, at));
            return Vec::new();
        }
        let items = reader.list(node, what, |reader, item| {
            let at = reader.headline(item);
            let errors = reader.errors();
            let value = if is_null(item) { None } else { read(reader, item) };
            // Whatever is left out is said to be: nothing is passed over in silence.
            if value.is_none() && reader.errors() == errors {
                reader.mismatch(item, "a value");
            }
            value.map(|value| (value, at))
        });
        items.unwrap_or_default()
    })
}

/// Says which words of a list stand in it twice.
pub(super) fn no_word_twice<T: std::fmt::Display + Ord>(reader: &mut Reader<'_>, words: &[(T, Span)]) {
    for finding in e109::check(words) {
        reader.warn(|_| finding);
    }
}

/// Says which names are used twice.
pub(super) fn no_name_twice<'n>(
    reader: &mut Reader<'_>,
    what: &str,
    names: impl Iterator<Item = (&'n str, Span)>,
) {
    for finding in e010::check(what, names) {
        reader.report(|_| finding);
    }
}

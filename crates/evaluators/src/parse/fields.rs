//! What every field of every file has in common.

use std::fmt::Display;
use std::str::FromStr;

use sortie_syntax::yaml::{Entry, Node, NodeKind, Tree};
use sortie_syntax::{Diagnostic, Field, Reader, Span, is_null};

use super::foreign::other_name;
use crate::limits::{MAX_LISTED, MAX_NAME_BYTES};
use crate::rules::{fields, files, foreign, ids};

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
            let Some(field) = self.field(reader, entries, *entry) else { continue };
            if reader.is_given(*entry) {
                given.push(field);
            }
            read(reader, *entry, field);
        }
        self.require(reader, node, &given);
        Some(given)
    }

    /// The field that a key is, under its own name or that of another tool.
    pub(super) fn field(
        &self,
        reader: &mut Reader<'_>,
        entries: &[Entry],
        entry: Entry,
    ) -> Option<&'static str> {
        if let Some(field) = other_name(reader, entries, entry, self.fields) {
            return Some(field);
        }
        match reader.field(entries, entry, self.what, self.fields, false) {
            Field::Known(field) => Some(field),
            Field::Extension | Field::Unknown => None,
        }
    }

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

/// Reports an error at a node, of which nothing is read then.
pub(super) fn refuse<'t, T>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    finding: impl FnOnce(Span) -> Diagnostic,
) -> Option<T> {
    let at = reader.headline(node);
    reader.report(|_| finding(at));
    None
}

pub(super) fn report_key(reader: &mut Reader<'_>, entry: Entry, finding: impl FnOnce(Span) -> Diagnostic) {
    let at = reader.tree().node(entry.key).span;
    reader.report(|_| finding(at));
}

/// One of a list of words, below a key.
pub(super) fn word<T: FromStr>(
    reader: &mut Reader<'_>,
    entry: Entry,
    what: &str,
    words: &'static [&'static str],
) -> Option<T> {
    reader.under(entry, |reader, node| fields::word(reader, node, what, words))
}

/// A text that says something, below a key.
pub(super) fn text(reader: &mut Reader<'_>, entry: Entry, most: usize) -> Option<String> {
    reader.under(entry, |reader, node| text_of(reader, node, most))
}

pub(super) fn text_of<'t>(reader: &mut Reader<'t>, node: Node<'t>, most: usize) -> Option<String> {
    let text = reader.string(node)?;
    if text.trim().is_empty() {
        return refuse(reader, node, fields::empty_text);
    }
    if text.len() > most {
        return refuse(reader, node, |at| files::long_text(text.len(), most, at));
    }
    Some(text)
}

/// Adds a text to another that stands there under another name.
pub(super) fn join(text: &mut Option<String>, more: Option<String>) {
    match (text, more) {
        (Some(text), Some(more)) => {
            text.push_str("\n\n");
            text.push_str(&more);
        }
        (text, Some(more)) => *text = Some(more),
        (_, None) => {}
    }
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
    if ids::is_kebab_case(&text) {
        return Some(text);
    }
    refuse(reader, node, |at| ids::not_kebab_case(&text, what, at, node.span))
}

/// A list below a key, of no more items than there may be.
pub(super) fn list<'t, T>(
    reader: &mut Reader<'t>,
    entry: Entry,
    what: &str,
    most: usize,
    mut read: impl FnMut(&mut Reader<'t>, Node<'t>) -> Option<T>,
) -> Vec<T> {
    reader.under(entry, |reader, node| {
        let length = match node.kind {
            NodeKind::Sequence(items) => items.len(),
            _ => 0,
        };
        if length > most {
            return refuse(reader, node, |at| files::long_list(length, most, at)).unwrap_or_default();
        }
        let items = reader.list(node, what, |reader, item| {
            let errors = reader.errors();
            let value = if is_null(item) { None } else { read(reader, item) };
            // Whatever is left out is said to be: nothing is passed over in silence.
            if value.is_none() && reader.errors() == errors {
                reader.mismatch(item, "a value");
            }
            value
        });
        items.unwrap_or_default()
    })
}

/// A list of words below a key, each of which should stand in it once.
pub(super) fn words<'t, T: Display + Ord>(
    reader: &mut Reader<'t>,
    entry: Entry,
    what: &str,
    mut read: impl FnMut(&mut Reader<'t>, Node<'t>) -> Option<T>,
) -> (Vec<T>, Vec<Span>) {
    let mut word = |reader: &mut Reader<'t>, item: Node<'t>| {
        let at = reader.headline(item);
        Some((read(reader, item)?, at))
    };
    let node = reader.tree().node(entry.value);
    if let NodeKind::Scalar(text, _) = node.kind
        && !is_null(node)
    {
        let word = reader.under(entry, |reader, node| {
            let at = reader.headline(node);
            reader.warn(|_| foreign::not_a_list(text, at, node.span));
            word(reader, node)
        });
        return word.into_iter().unzip();
    }
    let words = list(reader, entry, what, MAX_LISTED, word);
    for finding in ids::duplicate_words(&words) {
        reader.warn(|_| finding);
    }
    words.into_iter().unzip()
}

pub(super) fn no_name_twice<'n>(
    reader: &mut Reader<'_>,
    what: &str,
    names: impl Iterator<Item = (&'n str, Span)>,
) {
    for finding in ids::duplicate_names(what, names) {
        reader.report(|_| finding);
    }
}

//! Parses entries of standards.

use sortie_syntax::yaml::{Entry, Node, NodeKind};
use sortie_syntax::{Field, Reader, is_null};

use super::fields::{refuse, report_key, words};
use crate::model::{Standard, Standards};
use crate::rules::fields;

/// Says what to write in place of a key that other tools take, where it is one.
pub(super) fn is_refused(reader: &mut Reader<'_>, entry: Entry) -> bool {
    let key = reader.tree().key(entry);
    let is_refused = fields::REFUSED_KEYS.contains(&key);
    if is_refused {
        report_key(reader, entry, |at| fields::refused_key(key, at));
    }
    is_refused
}

pub(super) fn standards<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Standards {
    let mut standards = Standards::default();
    let entries = reader.mapping(node, "a mapping of standards to entries").unwrap_or_default();
    for entry in entries {
        if is_refused(reader, *entry) {
            continue;
        }
        let Field::Known(key) = reader.field(entries, *entry, "`standards`", Standard::WORDS, false) else {
            continue;
        };
        // The key was just found in the list.
        let Ok(standard) = key.parse::<Standard>() else { continue };
        if let NodeKind::Sequence([_, ..]) = reader.tree().node(entry.value).kind {
            let (ids, _) =
                words(reader, *entry, "a list of entries", |reader, item| one_entry(reader, item, standard));
            for id in ids {
                standards.insert(standard, id);
            }
        } else if let Some(id) = reader.under(*entry, |reader, node| one_entry(reader, node, standard)) {
            standards.insert(standard, id);
        }
    }
    standards
}

pub(super) fn one_entry<'t>(reader: &mut Reader<'t>, node: Node<'t>, standard: Standard) -> Option<String> {
    if is_null(node) {
        reader.mismatch(node, "the id of one entry");
        return None;
    }
    let written = reader.string(node)?;
    match standard.entry(&written) {
        Ok(entry) if entry == written => Some(entry),
        Ok(entry) => {
            let at = reader.headline(node);
            reader.warn(|_| fields::other_form(&written, standard, &entry, at, node.span));
            Some(entry)
        }
        Err(problem) => refuse(reader, node, |at| fields::no_entry(&written, standard, &problem, at)),
    }
}

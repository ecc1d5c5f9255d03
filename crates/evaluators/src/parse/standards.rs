//! Parses `standards`.

use sortie_syntax::yaml::{Entry, Node};
use sortie_syntax::{Field, Reader};

use crate::model::{Standard, Standards};
use crate::rules::{e003, e009, e102};

/// Says what to write in place of a key that other tools take, where it is one.
pub(super) fn is_refused(reader: &mut Reader<'_>, entry: Entry) -> bool {
    let key = reader.tree().key(entry);
    if !e003::REFUSED.contains(&key) {
        return false;
    }
    let at = reader.tree().node(entry.key).span;
    reader.report(|_| e003::refused(key, at));
    true
}

pub(super) fn standards<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Standards {
    let mut standards = Standards::default();
    let Some(entries) = reader.mapping(node, "a mapping of standards to entries") else { return standards };
    for entry in entries {
        if is_refused(reader, *entry) {
            continue;
        }
        let Field::Known(key) = reader.field(entries, *entry, "`standards`", Standard::WORDS, false) else {
            continue;
        };
        // The key was just found in the list.
        let Ok(standard) = key.parse::<Standard>() else { continue };
        if let Some(id) = reader.under(*entry, |reader, node| one_entry(reader, node, standard)) {
            standards.insert(standard, id);
        }
    }
    standards
}

fn one_entry<'t>(reader: &mut Reader<'t>, node: Node<'t>, standard: Standard) -> Option<String> {
    if sortie_syntax::is_null(node) {
        reader.mismatch(node, "the id of one entry");
        return None;
    }
    let written = reader.string(node)?;
    let at = reader.headline(node);
    match standard.entry(&written) {
        Ok(entry) if entry == written => Some(entry),
        Ok(entry) => {
            reader.warn(|_| e102::other_form(&written, standard, &entry, at, node.span));
            Some(entry)
        }
        Err(problem) => {
            reader.report(|_| e009::no_entry(&written, standard, &problem, at));
            None
        }
    }
}

//! Reads entry actions.

use indexmap::IndexMap;

use sortie_syntax::yaml::{Entry, Node};
use sortie_syntax::{ExactNumbers, Reader};

use super::{extension, object};
use crate::model::fields::Object;
use crate::model::{Action, ActionKind, Extensions, LogAction, SendAction};

pub(crate) fn action<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Action {
    // What is not a mapping keeps its place in the list, so that the others keep theirs.
    let entries = reader.mapping(node, "an action").unwrap_or_default();
    let mut extensions = Extensions::default();
    let mut keys: Vec<Entry> = Vec::new();
    for entry in entries {
        let key = reader.tree().key(*entry);
        if key.starts_with("x-") {
            let after = keys.last().map(|entry| reader.tree().key(*entry));
            extension(reader, *entry, after, &mut extensions);
        } else {
            keys.push(*entry);
        }
    }
    let base = reader.depth();
    let mut numbers = ExactNumbers::default();
    let kind = match keys.as_slice() {
        [entry] if reader.tree().key(*entry) == "send" => reader.under(*entry, |reader, node| {
            ActionKind::Send(object(reader, node, |send: &mut SendAction, name, reader, node| match name {
                "params" => send.params = Some(reader.value_at(node, base, &mut numbers)),
                _ => send.read_field(name, reader, node),
            }))
        }),
        [entry] if reader.tree().key(*entry) == "log" => {
            ActionKind::Log(reader.under(*entry, LogAction::read_any))
        }
        _ => {
            let mut actions = IndexMap::new();
            for entry in keys {
                let value = reader.under(entry, |reader, node| reader.value_at(node, base, &mut numbers));
                actions.insert(reader.tree().key(entry).to_owned(), value);
            }
            ActionKind::Other(actions)
        }
    };
    Action { kind, extensions, numbers }
}

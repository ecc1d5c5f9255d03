//! Whether two texts say the same.

use std::collections::HashMap;

use sortie_syntax::yaml::{Entry, NodeId, NodeKind, Scalar, Style, Tree};

use super::shape::{DOCUMENT, Shape};

/// Whether two trees hold the same document: the same values, numbers to the digit, keys in the same order
/// wherever the order is the author's.
pub(super) fn same_document(a: &Tree, b: &Tree) -> bool {
    same(a, a.root().id, b, b.root().id, &DOCUMENT)
}

// Recursion is bounded: trees are at most `MAX_NESTING` deep.
fn same(a: &Tree, in_a: NodeId, b: &Tree, in_b: NodeId, shape: &Shape) -> bool {
    match (a.node(in_a).kind, b.node(in_b).kind) {
        (NodeKind::Scalar(a, a_style), NodeKind::Scalar(b, b_style)) => {
            match (resolve(a, a_style), resolve(b, b_style)) {
                (Scalar::Number { .. }, Scalar::Number { .. }) | (Scalar::NotFinite, Scalar::NotFinite) => {
                    a == b
                }
                (a, b) => a == b,
            }
        }
        (NodeKind::Sequence(of_a), NodeKind::Sequence(of_b)) => {
            of_a.len() == of_b.len()
                && of_a.iter().zip(of_b).all(|(in_a, in_b)| same(a, *in_a, b, *in_b, shape.item()))
        }
        (NodeKind::Mapping(of_a), NodeKind::Mapping(of_b)) => {
            let same_entry = |in_a: &Entry, in_b: &Entry| {
                let key = a.key(*in_a);
                key == b.key(*in_b) && same(a, in_a.value, b, in_b.value, shape.child(key))
            };
            if of_a.len() != of_b.len() {
                return false;
            }
            if shape.is_object() {
                // No key is there twice, so equal numbers and every key found is a match of both.
                let by_key: HashMap<&str, &Entry> = of_b.iter().map(|entry| (b.key(*entry), entry)).collect();
                let partner = |in_a: &Entry| by_key.get(a.key(*in_a)).copied();
                return of_a.iter().all(|in_a| partner(in_a).is_some_and(|in_b| same_entry(in_a, in_b)));
            }
            of_a.iter().zip(of_b).all(|(in_a, in_b)| same_entry(in_a, in_b))
        }
        _ => false,
    }
}

fn resolve(text: &str, style: Style) -> Scalar<'_> {
    match style {
        Style::Plain => Scalar::resolve(text),
        _ => Scalar::String(text),
    }
}

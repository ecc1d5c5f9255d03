//! Which objects of a document have an order of fields, and which.

use std::collections::HashMap;

use sortie_oatf::model::{
    Actor, Attack, Classification, Correlation, Document, Execution, ExpressionMatch, Extractor,
    FrameworkMapping, Indicator, LogAction, PatternMatch, Phase, Reference, SemanticExamples, SemanticMatch,
    SendAction, Severity, Trigger,
};
use sortie_syntax::yaml::{Entry, NodeId, NodeKind, Scalar, Style, Tree};

/// What is known about the content of a node.
pub(super) enum Shape {
    /// An object of the format.
    Object {
        /// Its fields, in order.
        order: &'static [&'static str],
        /// The fields that hold objects themselves.
        children: &'static [(&'static str, &'static Shape)],
    },
    /// A list of objects of the format.
    List(&'static Shape),
    /// Content whose order is its author's.
    Opaque,
}

impl Shape {
    /// The shape of what stands under a key.
    pub(super) fn child(&self, key: &str) -> &'static Self {
        match self {
            Self::Object { children, .. } => {
                children.iter().find(|(name, _)| *name == key).map_or(&Self::Opaque, |(_, shape)| shape)
            }
            _ => &Self::Opaque,
        }
    }

    /// The shape of an item of a list.
    pub(super) fn item(&self) -> &'static Self {
        match self {
            Self::List(item) => item,
            _ => &Self::Opaque,
        }
    }

    /// Whether the fields have an order of their own.
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Object { .. })
    }

    /// Sorts the fields of an object: as the specification has them, with `x-` fields behind the one they
    /// followed.
    pub(super) fn sort<T>(&self, items: Vec<(&str, T)>) -> Vec<T> {
        let order = if let Self::Object { order, .. } = self { order } else { [].as_slice() };
        let mut rank = 0;
        let mut ranked = Vec::with_capacity(items.len());
        for (name, item) in items {
            rank = order.iter().position(|field| *field == name).map_or(rank, |at| at + 1);
            ranked.push((rank, item));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, item)| item).collect()
    }
}

pub(super) static DOCUMENT: Shape =
    Shape::Object { order: Document::FIELDS, children: &[("attack", &ATTACK)] };

static ATTACK: Shape = Shape::Object {
    order: Attack::FIELDS,
    children: &[
        ("severity", &SEVERITY),
        ("classification", &CLASSIFICATION),
        ("references", &Shape::List(&REFERENCE)),
        ("execution", &EXECUTION),
        ("indicators", &Shape::List(&INDICATOR)),
        ("correlation", &CORRELATION),
    ],
};
static SEVERITY: Shape = Shape::Object { order: Severity::FIELDS, children: &[] };
static CLASSIFICATION: Shape =
    Shape::Object { order: Classification::FIELDS, children: &[("mappings", &Shape::List(&MAPPING))] };
static MAPPING: Shape = Shape::Object { order: FrameworkMapping::FIELDS, children: &[] };
static REFERENCE: Shape = Shape::Object { order: Reference::FIELDS, children: &[] };
static CORRELATION: Shape = Shape::Object { order: Correlation::FIELDS, children: &[] };
static EXECUTION: Shape = Shape::Object {
    order: Execution::FIELDS,
    children: &[("phases", &PHASES), ("actors", &Shape::List(&ACTOR))],
};
static ACTOR: Shape = Shape::Object { order: Actor::FIELDS, children: &[("phases", &PHASES)] };
static PHASES: Shape = Shape::List(&PHASE);
static PHASE: Shape = Shape::Object {
    order: Phase::FIELDS,
    children: &[
        ("extractors", &Shape::List(&EXTRACTOR)),
        ("on_enter", &Shape::List(&ACTION)),
        ("trigger", &TRIGGER),
    ],
};
static EXTRACTOR: Shape = Shape::Object { order: Extractor::FIELDS, children: &[] };
static TRIGGER: Shape = Shape::Object { order: Trigger::FIELDS, children: &[] };
// An action has one key, so there is nothing to order; what stands below the key has fields.
static ACTION: Shape = Shape::Object { order: &[], children: &[("send", &SEND), ("log", &LOG)] };
static SEND: Shape = Shape::Object { order: SendAction::FIELDS, children: &[] };
static LOG: Shape = Shape::Object { order: LogAction::FIELDS, children: &[] };
static INDICATOR: Shape = Shape::Object {
    order: Indicator::FIELDS,
    children: &[("pattern", &PATTERN), ("expression", &EXPRESSION), ("semantic", &SEMANTIC)],
};
static PATTERN: Shape = Shape::Object { order: PatternMatch::FIELDS, children: &[] };
static EXPRESSION: Shape = Shape::Object { order: ExpressionMatch::FIELDS, children: &[] };
static SEMANTIC: Shape = Shape::Object { order: SemanticMatch::FIELDS, children: &[("examples", &EXAMPLES)] };
static EXAMPLES: Shape = Shape::Object { order: SemanticExamples::FIELDS, children: &[] };

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_move_with_the_field_they_follow() {
        let keys = ["x-first", "tier", "x-tier", "x-tier-2", "target", "id", "x-id"];
        let keys = INDICATOR.sort(keys.map(|key| (key, key)).to_vec());
        assert_eq!(keys, ["x-first", "id", "x-id", "target", "tier", "x-tier", "x-tier-2"]);
    }

    #[test]
    fn content_without_an_order_stays() {
        assert_eq!(Shape::Opaque.sort(vec![("b", 1), ("a", 2)]), [1, 2]);
    }
}

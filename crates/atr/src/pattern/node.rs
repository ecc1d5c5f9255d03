//! The syntax tree of a JavaScript regular expression.

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Empty,
    Letter(char),
    Class(Class),
    /// `^`: the start of the text, since no rule has the flag `m`.
    Start,
    /// `$`: the end of the text.
    End,
    /// `\b`, or `\B` where it is negated.
    Boundary {
        negated: bool,
    },
    Concat(Vec<Node>),
    Either(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        greedy: bool,
    },
    Look {
        ahead: bool,
        negated: bool,
        node: Box<Node>,
    },
}

/// A set of characters, as it was written: what is negated is negated after cases are folded, so it stays so.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Class {
    pub(super) negated: bool,
    pub(super) items: Vec<ClassItem>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClassItem {
    Range(char, char),
    /// `\d`, `\D`
    Digit {
        negated: bool,
    },
    /// `\w`, `\W`
    Word {
        negated: bool,
    },
    /// `\s`, `\S`
    Space {
        negated: bool,
    },
    /// `\p{…}`, `\P{…}`
    Group {
        name: String,
        negated: bool,
    },
}

impl Class {
    pub(super) fn of(item: ClassItem) -> Self {
        Self { negated: false, items: vec![item] }
    }

    /// `.`: anything but the end of a line.
    pub(super) fn dot() -> Self {
        let ends = ['\n', '\r', '\u{2028}', '\u{2029}'];
        Self { negated: true, items: ends.into_iter().map(|end| ClassItem::Range(end, end)).collect() }
    }

    /// Whether every character is in it: `[\s\S]`, `[^]`.
    pub(super) fn is_everything(&self) -> bool {
        if self.negated {
            return self.items.is_empty();
        }
        let has = |item: ClassItem| self.items.contains(&item);
        [false, true].into_iter().all(|negated| has(ClassItem::Space { negated }))
            || [false, true].into_iter().all(|negated| has(ClassItem::Word { negated }))
            || [false, true].into_iter().all(|negated| has(ClassItem::Digit { negated }))
    }
}

impl Node {
    pub(super) fn concat(mut nodes: Vec<Self>) -> Self {
        nodes.retain(|node| *node != Self::Empty);
        match nodes.len() {
            0 => Self::Empty,
            1 => nodes.swap_remove(0),
            _ => Self::Concat(nodes),
        }
    }

    pub(super) fn either(mut nodes: Vec<Self>) -> Self {
        if nodes.len() == 1 { nodes.swap_remove(0) } else { Self::Either(nodes) }
    }

    /// Whether there is look-around in it.
    // Recursion is bounded by the depth that the parser accepts.
    pub(super) fn has_look(&self) -> bool {
        match self {
            Self::Look { .. } => true,
            Self::Concat(nodes) | Self::Either(nodes) => nodes.iter().any(Self::has_look),
            Self::Repeat { node, .. } => node.has_look(),
            _ => false,
        }
    }
}

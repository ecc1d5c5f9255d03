//! The arena that holds a parsed YAML document.

use crate::node_path::{NodePath, Segment};
use crate::source::{Source, Span};

/// The place of a node in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) u32);

/// How a scalar was written. Only plain scalars can be anything but strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// A literal block (`|`).
    Literal,
    /// A folded block (`>`).
    Folded,
}

/// A scalar's text: a slice of the source where YAML needed no processing, owned otherwise.
#[derive(Clone, Debug)]
pub(super) enum Text {
    Slice(Span),
    Owned(Box<str>),
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The key, always a scalar.
    pub key: NodeId,
    /// The value.
    pub value: NodeId,
}

#[derive(Clone, Debug)]
pub(super) enum Stored {
    Scalar {
        text: Text,
        style: Style,
    },
    Sequence {
        items: Box<[NodeId]>,
        flow: bool,
    },
    Mapping {
        entries: Box<[Entry]>,
        flow: bool,
    },
    /// Stands where an alias stood: already reported, of no known value.
    Refused,
}

#[derive(Clone, Debug)]
pub(super) struct StoredNode {
    pub(super) span: Span,
    pub(super) stored: Stored,
}

/// What a node is.
#[derive(Clone, Copy, Debug)]
pub enum NodeKind<'t> {
    /// A scalar, its text and how it was written.
    Scalar(&'t str, Style),
    /// A sequence.
    Sequence(&'t [NodeId]),
    /// A mapping, in source order.
    Mapping(&'t [Entry]),
    /// Something that was refused and reported, such as an alias.
    Refused,
}

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    /// Its place in the tree.
    pub id: NodeId,
    /// Its place in the source.
    pub span: Span,
    /// What it is.
    pub kind: NodeKind<'t>,
}

/// One YAML document: its source, and a node for every key and value.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) source: Source,
    pub(super) nodes: Vec<StoredNode>,
    pub(super) root: NodeId,
}

impl Tree {
    /// The source text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// How many keys and values there are.
    #[expect(clippy::len_without_is_empty, reason = "a tree has a root")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The top node.
    pub fn root(&self) -> Node<'_> {
        self.node(self.root)
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        // Ids are only made by the builder of this very tree, so they are in range.
        let node = &self.nodes[id.0 as usize];
        let kind = match &node.stored {
            Stored::Scalar { text, style } => NodeKind::Scalar(self.text(text), *style),
            Stored::Sequence { items, .. } => NodeKind::Sequence(items),
            Stored::Mapping { entries, .. } => NodeKind::Mapping(entries),
            Stored::Refused => NodeKind::Refused,
        };
        Node { id, span: node.span, kind }
    }

    /// The text of a key.
    pub fn key(&self, entry: Entry) -> &str {
        match self.node(entry.key).kind {
            NodeKind::Scalar(text, _) => text,
            _ => "",
        }
    }

    /// Whether a collection was written in flow style (`[…]`, `{…}`).
    pub fn is_flow(&self, id: NodeId) -> bool {
        matches!(
            self.nodes[id.0 as usize].stored,
            Stored::Sequence { flow: true, .. } | Stored::Mapping { flow: true, .. }
        )
    }

    fn text<'t>(&'t self, text: &'t Text) -> &'t str {
        match text {
            Text::Slice(span) => self.source.slice(*span),
            Text::Owned(text) => text,
        }
    }

    /// The entry of a mapping under `key`.
    pub fn entry(&self, mapping: NodeId, key: &str) -> Option<Entry> {
        match self.node(mapping).kind {
            NodeKind::Mapping(entries) => entries.iter().copied().find(|entry| self.key(*entry) == key),
            _ => None,
        }
    }

    /// Follows a path from the root; the entry that holds the value, where the value is one of a mapping.
    pub fn find(&self, path: &NodePath) -> Option<(NodeId, Option<Entry>)> {
        let mut at = (self.root, None);
        for segment in path.segments() {
            at = match segment {
                Segment::Key(key) => {
                    let entry = self.entry(at.0, key)?;
                    (entry.value, Some(entry))
                }
                Segment::Index(index) => match self.node(at.0).kind {
                    NodeKind::Sequence(items) => (*items.get(*index)?, None),
                    _ => return None,
                },
            };
        }
        Some(at)
    }

    /// What to underline for the value at `path`: a scalar itself, but the key of a collection, or the
    /// first key of one that stands in a list, since nobody reads twenty underlined lines.
    ///
    /// A path that does not exist gives the span of the nearest ancestor that does.
    pub fn span_of(&self, path: &NodePath) -> Span {
        let mut path = path.clone();
        loop {
            if let Some((id, entry)) = self.find(&path) {
                return self.headline(id, entry);
            }
            match path.parent() {
                Some(parent) => path = parent,
                None => return self.headline(self.root, None),
            }
        }
    }

    /// The span of the key at `path`, or what [`Self::span_of`] says where there is none.
    pub fn key_span_of(&self, path: &NodePath) -> Span {
        match self.find(path) {
            Some((_, Some(entry))) => self.node(entry.key).span,
            _ => self.span_of(path),
        }
    }

    pub(crate) fn headline(&self, id: NodeId, entry: Option<Entry>) -> Span {
        let node = self.node(id);
        match (node.kind, entry) {
            // An empty scalar (`key:` and nothing) has nothing to underline; its key has.
            (NodeKind::Scalar(..), Some(entry)) if node.span.is_empty() => self.node(entry.key).span,
            (NodeKind::Scalar(_, style), _) => self.first_line(node.span, style),
            (_, Some(entry)) => self.node(entry.key).span,
            (NodeKind::Mapping(entries), None) => match entries.first() {
                Some(first) => self.node(first.key).span,
                None => node.span,
            },
            (NodeKind::Sequence(items), None) => match items.first() {
                // Nesting is bounded, see `MAX_NESTING`.
                Some(first) => self.headline(*first, None),
                None => node.span,
            },
            (NodeKind::Refused, None) => node.span,
        }
    }

    /// Block scalars run over many lines; the first says enough.
    fn first_line(&self, span: Span, style: Style) -> Span {
        match style {
            Style::Literal | Style::Folded => {
                let text = self.source.slice(span);
                let end = text.find('\n').unwrap_or(text.len());
                Span::new(span.start, span.start + end)
            }
            _ => span,
        }
    }
}

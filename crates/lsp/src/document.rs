//! An open document: its text as it is now, and the last tree that could be made of it.

use std::path::PathBuf;

use lsp_types::{Range, Uri};
use sortie_oatf::model::Document;
use sortie_syntax::yaml::{Located, Tree};
use sortie_syntax::{Diagnostic, NodePath, Span};

use crate::kind::DocumentKind;
use crate::text::Text;

/// A document that an editor has open.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    pub(crate) uri: Uri,
    pub(crate) path: PathBuf,
    pub(crate) version: i32,
    pub(crate) kind: DocumentKind,
    pub(crate) text: Text,
    /// What was found in the text as it is.
    pub(crate) findings: Vec<Diagnostic>,
    /// The last version that had a structure. Of the current text, unless that is broken.
    pub(crate) snapshot: Option<Snapshot>,
    /// Whether the text has changed since it was analysed.
    pub(crate) is_dirty: bool,
}

/// What was made of a text.
#[derive(Debug)]
pub(crate) enum Snapshot {
    /// An OATF document, which holds its tree.
    Attack(Box<Document>),
    /// Anything else that is YAML.
    Yaml(Box<Tree>),
}

impl Snapshot {
    fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Attack(document) => document.tree(),
            Self::Yaml(tree) => Some(tree),
        }
    }
}

impl OpenDocument {
    /// The last tree, and where its places are in the text as it is now.
    pub(crate) fn view(&self) -> Option<View<'_>> {
        let snapshot = self.snapshot.as_ref()?;
        let tree = snapshot.tree()?;
        let attack = match snapshot {
            Snapshot::Attack(document) => Some(&**document),
            Snapshot::Yaml(_) => None,
        };
        let change = Change::between(tree.source().text(), self.text.as_str());
        Some(View { text: &self.text, tree, attack, change })
    }
}

/// A tree, as seen from the current text.
pub(crate) struct View<'d> {
    pub(crate) text: &'d Text,
    pub(crate) tree: &'d Tree,
    /// The document, where it is an OATF one.
    pub(crate) attack: Option<&'d Document>,
    change: Change,
}

impl<'d> View<'d> {
    /// Where a span of the tree is now; `None` where the text there has changed since.
    pub(crate) fn range(&self, span: Span) -> Option<Range> {
        Some(self.text.range(self.current(span)?))
    }

    /// The same in bytes.
    pub(crate) fn current(&self, span: Span) -> Option<Span> {
        self.change.forward(span)
    }

    /// What stands at a byte of the current text; `None` where the tree does not know.
    pub(crate) fn locate(&self, offset: usize) -> Option<Located> {
        Some(self.tree.locate(self.change.backward(offset)?))
    }

    /// Where a span is now, if the text there is still the same.
    pub(crate) fn unchanged(&self, span: Span) -> Option<Span> {
        let current = self.current(span)?;
        let is_same = self.text.as_str().get(current.range()) == Some(self.tree.source().slice(span));
        is_same.then_some(current)
    }

    /// Where a part of the scalar at a path stands, if it is still the same.
    pub(crate) fn part_of(&self, path: &NodePath, part: std::ops::Range<usize>) -> Option<Span> {
        let (id, _) = self.tree.find(path)?;
        self.unchanged(self.tree.subspan(id, part)?)
    }

    /// The text of the scalar at a path.
    pub(crate) fn scalar(&self, path: &NodePath) -> Option<&'d str> {
        match self.tree.node(self.tree.find(path)?.0).kind {
            sortie_syntax::yaml::NodeKind::Scalar(text, _) => Some(text),
            _ => None,
        }
    }
}

/// The one part in which two texts differ. Equal texts differ in nothing at their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    start: usize,
    old_end: usize,
    new_end: usize,
}

impl Change {
    fn between(old: &str, new: &str) -> Self {
        if old == new {
            return Self { start: old.len(), old_end: old.len(), new_end: new.len() };
        }
        let start = common(old.bytes().zip(new.bytes()));
        let most = old.len().min(new.len()) - start;
        let behind = common(old.bytes().rev().zip(new.bytes().rev()).take(most));
        Self { start, old_end: old.len() - behind, new_end: new.len() - behind }
    }

    fn forward(self, span: Span) -> Option<Span> {
        let shift = |offset: usize| offset - self.old_end + self.new_end;
        if span.end <= self.start {
            Some(span)
        } else if span.start >= self.old_end {
            Some(Span::new(shift(span.start), shift(span.end)))
        } else if span.start <= self.start && span.end >= self.old_end {
            Some(Span::new(span.start, shift(span.end)))
        } else {
            None
        }
    }

    fn backward(self, offset: usize) -> Option<usize> {
        if offset <= self.start {
            Some(offset)
        } else if offset >= self.new_end {
            Some(offset - self.new_end + self.old_end)
        } else {
            None
        }
    }
}

fn common(pairs: impl Iterator<Item = (u8, u8)>) -> usize {
    pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_outside_a_change_are_kept_and_those_inside_are_not() {
        let change = Change::between("a: 1\nb: 2\nc: 3\n", "a: 1\nb: [x\nc: 3\n");
        assert_eq!(change, Change { start: 8, old_end: 9, new_end: 10 });
        assert_eq!(change.forward(Span::new(0, 4)), Some(Span::new(0, 4)));
        assert_eq!(change.forward(Span::new(10, 14)), Some(Span::new(11, 15)));
        assert_eq!(change.forward(Span::new(5, 9)), Some(Span::new(5, 10)), "it grows with what is in it");
        assert_eq!(change.backward(11), Some(10));
        assert_eq!(change.backward(9), None);
        let change = Change::between("abcdef", "abXf");
        assert_eq!(change.forward(Span::new(3, 6)), None, "half of it is gone");
        assert_eq!(Change::between("same", "same").forward(Span::new(1, 3)), Some(Span::new(1, 3)));
    }
}

//! From a byte of the source to the key or value that stands there.

use super::tree::{Entry, NodeId, NodeKind, Tree};
use crate::node_path::NodePath;

/// Which part of a mapping entry, or of a list item, a byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocatedPart {
    /// The key of an entry.
    Key,
    /// A value.
    Value,
    /// White space, punctuation or a comment next to the value at the path.
    Beside,
}

/// The innermost key or value at a byte of the source.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its path. That of a key is the path of the value under it.
    pub path: NodePath,
    /// The value at the path.
    pub value: NodeId,
    /// The entry that holds the value, where it is one of a mapping.
    pub entry: Option<Entry>,
    /// What the byte belongs to.
    pub part: LocatedPart,
}

impl Tree {
    /// The innermost key or value that a byte of the source stands in, at the end of, or after.
    ///
    /// ```
    /// use sortie_syntax::yaml::{LocatedPart, Tree};
    ///
    /// let (tree, _) = Tree::parse("tools:\n  - name: notes\n");
    /// let located = tree.unwrap().locate(17);
    /// assert_eq!((located.path.to_string().as_str(), located.part), ("tools[0].name", LocatedPart::Value));
    /// ```
    pub fn locate(&self, offset: usize) -> Located {
        let mut located =
            Located { path: NodePath::root(), value: self.root, entry: None, part: LocatedPart::Value };
        // Nesting is bounded, see `MAX_NESTING`.
        loop {
            let node = self.node(located.value);
            match node.kind {
                NodeKind::Mapping(entries) => {
                    let after = entries.partition_point(|entry| self.node(entry.key).span.start <= offset);
                    let Some(entry) = after.checked_sub(1).map(|at| entries[at]) else { break };
                    // Behind the closing brace of a flow mapping nothing of it is meant.
                    if self.is_flow(located.value) && offset > node.span.end {
                        break;
                    }
                    located.path.push_key(self.key(entry));
                    (located.value, located.entry) = (entry.value, Some(entry));
                    if offset <= self.node(entry.key).span.end {
                        located.part = LocatedPart::Key;
                        return located;
                    }
                }
                NodeKind::Sequence(items) => {
                    let after = items.partition_point(|item| self.node(*item).span.start <= offset);
                    let Some(index) = after.checked_sub(1) else { break };
                    if self.is_flow(located.value) && offset > node.span.end {
                        break;
                    }
                    located.path.push_index(index);
                    (located.value, located.entry) = (items[index], None);
                }
                NodeKind::Scalar(..) | NodeKind::Refused => break,
            }
        }
        let span = self.node(located.value).span;
        let is_leaf = matches!(self.node(located.value).kind, NodeKind::Scalar(..) | NodeKind::Refused);
        if !is_leaf || offset < span.start || offset > span.end {
            located.part = LocatedPart::Beside;
        }
        located
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn at(text: &str) -> (String, LocatedPart) {
        let offset = text.find('|').unwrap();
        let (tree, findings) = Tree::parse(&text.replacen('|', "", 1));
        let located = tree.unwrap_or_else(|| panic!("{findings:?}")).locate(offset);
        (located.path.to_string(), located.part)
    }

    #[test]
    fn keys_values_and_what_is_between_them_are_told_apart() {
        let found = |path: &str, part| (path.to_owned(), part);
        assert_eq!(at("a:\n  b|c: 1\n"), found("a.bc", LocatedPart::Key));
        assert_eq!(at("a:\n  bc: 1|\n"), found("a.bc", LocatedPart::Value));
        assert_eq!(at("a:\n  bc:| 1\n"), found("a.bc", LocatedPart::Beside));
        assert_eq!(at("a: [x, |y]\n"), found("a[1]", LocatedPart::Value));
        assert_eq!(at("a: {x: 1} | # note\nb: 2\n"), found("a", LocatedPart::Beside));
        assert_eq!(at("- a: 1\n- b: \"|2\"\n"), found("[1].b", LocatedPart::Value));
        assert_eq!(at("| # only a comment\na: 1\n"), found("", LocatedPart::Beside));
    }
}

//! Where checks put what they find.

use std::ops::Range;

use super::Rule;
use crate::diagnostic::{Diagnostic, Edit, Label};
use crate::model::Document;
use crate::node_path::{NodePath, Segment};
use crate::source::Span;
use crate::yaml::{Node, NodeKind};

/// Collects findings, and knows where in the source they stand.
pub(crate) struct Report<'d> {
    document: &'d Document,
    unreadable: &'d [NodePath],
    findings: Vec<Diagnostic>,
}

impl<'d> Report<'d> {
    pub(super) fn new(document: &'d Document, unreadable: &'d [NodePath]) -> Self {
        Self { document, unreadable, findings: Vec::new() }
    }

    /// Reports a violation at a path: the value there, or the nearest thing above it, is underlined.
    ///
    /// What comes back adds labels, help and fixes to the finding.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        path: impl Into<NodePath>,
        message: impl Into<String>,
    ) -> Finding<'_, 'd> {
        let path = path.into();
        let mut finding = Diagnostic::new(rule.severity, rule.code, message);
        finding.span = self.document.span_of(&path);
        finding.path = Some(path);
        self.findings.push(finding);
        Finding { document: self.document, at: self.findings.len() - 1, findings: &mut self.findings }
    }

    /// Whether the value at `path` was there and could not be read, so that nothing should be said about
    /// its absence.
    pub(crate) fn is_unreadable(&self, path: &NodePath) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable.is_prefix_of(path) || path == unreadable)
    }

    /// Whether something at `path`, above it or below it could not be read, so that what seems to be missing
    /// there may only be misspelt.
    pub(crate) fn is_damaged(&self, path: impl Into<NodePath>) -> bool {
        if self.unreadable.is_empty() {
            return false;
        }
        let path = path.into();
        let unreadable = |other: &NodePath| other.is_prefix_of(&path) || path.is_prefix_of(other);
        self.unreadable.iter().any(unreadable)
    }

    /// Whether a value of this kind may have been there and could not be read: one of its own, or what it would
    /// stand in. `*` is any position of a list.
    pub(crate) fn may_lack(&self, kind: &[&str]) -> bool {
        let fits = |(segment, wanted): (&Segment, &&str)| match segment {
            Segment::Key(key) => key == wanted,
            Segment::Index(_) => *wanted == "*",
        };
        self.unreadable
            .iter()
            .any(|path| path.segments().len() <= kind.len() && path.segments().iter().zip(kind).all(fits))
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let Self { unreadable, mut findings, .. } = self;
        findings.retain(|finding| {
            finding
                .path
                .as_ref()
                .is_none_or(|path| !unreadable.iter().any(|unreadable| unreadable.is_prefix_of(path)))
        });
        Diagnostic::sort(&mut findings);
        findings
    }
}

/// A finding that was just reported.
pub(crate) struct Finding<'r, 'd> {
    document: &'d Document,
    findings: &'r mut Vec<Diagnostic>,
    at: usize,
}

impl<'d> Finding<'_, 'd> {
    fn edit(&mut self) -> &mut Diagnostic {
        // `at` is the place of the finding that made this value.
        &mut self.findings[self.at]
    }

    /// What to write beside the underlined text.
    pub(crate) fn label(mut self, text: impl Into<String>) -> Self {
        self.edit().label = Some(text.into());
        self
    }

    /// Underlines the key instead of the value.
    pub(crate) fn at_key(mut self) -> Self {
        let path = self.edit().path.clone();
        if let (Some(tree), Some(path)) = (self.document.tree(), path) {
            self.edit().span = Some(tree.key_span_of(&path));
        }
        self
    }

    /// Underlines a part of the scalar at the path, given in bytes of its text.
    pub(crate) fn within(mut self, range: Range<usize>) -> Self {
        if let Some(span) = self.part(range) {
            self.edit().span = Some(span);
        }
        self
    }

    /// Offers to write something else in place of a part of the scalar at the path.
    pub(crate) fn replace_within(
        self,
        range: Range<usize>,
        title: impl Into<String>,
        replacement: impl Into<String>,
    ) -> Self {
        match self.part(range) {
            Some(span) => self.fix(title, vec![Edit { span, replacement: replacement.into() }]),
            None => self,
        }
    }

    /// Offers to write something else in place of the scalar at the path. The replacement must stand for
    /// itself without quotes.
    pub(crate) fn replace_value(self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        let Some(node) = self.node() else { return self };
        match node.kind {
            NodeKind::Scalar(..) if !node.span.is_empty() => {
                self.fix(title, vec![Edit { span: node.span, replacement: replacement.into() }])
            }
            _ => self,
        }
    }

    /// Offers to put a field in front of the others of the mapping at `path`.
    pub(crate) fn insert_field(self, path: &NodePath, field: &str, value: &str) -> Self {
        let Some(tree) = self.document.tree() else { return self };
        let Some((id, _)) = tree.find(path) else { return self };
        let NodeKind::Mapping([first, ..]) = tree.node(id).kind else { return self };
        let start = tree.node(first.key).span.start;
        let line = tree.source().slice(Span::new(0, start));
        let indent = line.len() - line.rfind('\n').map_or(0, |newline| newline + 1);
        let between = if tree.is_flow(id) { ", ".to_owned() } else { format!("\n{:indent$}", "") };
        let replacement = format!("{field}: {value}{between}");
        self.fix(format!("add `{field}: {value}`"), vec![Edit { span: Span::new(start, start), replacement }])
    }

    /// The node at the path, where the document has a source.
    fn node(&self) -> Option<Node<'d>> {
        let path = self.findings[self.at].path.as_ref()?;
        let tree = self.document.tree()?;
        Some(tree.node(tree.find(path)?.0))
    }

    fn part(&self, range: Range<usize>) -> Option<Span> {
        let id = self.node()?.id;
        self.document.tree()?.subspan(id, range)
    }

    /// Points at a second place.
    pub(crate) fn also(mut self, path: &NodePath, text: impl Into<String>) -> Self {
        if let Some(span) = self.document.span_of(path) {
            self.edit().labels.push(Label { span, text: text.into() });
        }
        self
    }

    /// Points at a second place by its key.
    pub(crate) fn also_key(mut self, path: &NodePath, text: impl Into<String>) -> Self {
        if let Some(tree) = self.document.tree() {
            let span = tree.key_span_of(path);
            self.edit().labels.push(Label { span, text: text.into() });
        }
        self
    }

    /// Says what to do.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.edit().help.push(text.into());
        self
    }

    /// Offers a repair.
    pub(crate) fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        if !edits.is_empty() {
            self.edit().fix = Some(crate::diagnostic::Fix { title: title.into(), edits });
        }
        self
    }
}

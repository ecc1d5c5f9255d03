//! Where checks put what they find.

use std::ops::Range;

use super::Rule;
use crate::diagnostic::{Diagnostic, Edit, Findings, Fix, Label};
use crate::model::Document;
use crate::node_path::NodePath;

/// Collects findings, and knows where in the source they stand.
pub(crate) struct Report<'d> {
    document: &'d Document,
    unreadable: &'d [NodePath],
    findings: Findings,
}

impl<'d> Report<'d> {
    pub(super) fn new(document: &'d Document, unreadable: &'d [NodePath]) -> Self {
        Self { document, unreadable, findings: Findings::default() }
    }

    /// Reports a violation at a path: the value there, or the nearest thing above it, is underlined.
    ///
    /// What comes back adds labels, help and fixes to the finding. Findings about what could not be read are
    /// dropped: they were reported when it could not be read.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        path: NodePath,
        message: impl Into<String>,
    ) -> Finding<'_, 'd> {
        if self.is_unreadable(&path) || !self.findings.has_room(rule.severity) {
            return Finding { document: self.document, finding: None };
        }
        let mut finding = Diagnostic::new(rule.severity, rule.code, message);
        finding.span = self.document.span_of(&path);
        finding.path = Some(path);
        Finding { document: self.document, finding: Some(self.findings.keep(finding)) }
    }

    /// Whether the value at `path` was there and could not be read, so that nothing should be said about
    /// its absence.
    pub(crate) fn is_unreadable(&self, path: &NodePath) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable.is_prefix_of(path))
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.findings.finish()
    }
}

/// A finding that was just reported; nothing, when it was not worth describing.
pub(crate) struct Finding<'r, 'd> {
    document: &'d Document,
    finding: Option<&'r mut Diagnostic>,
}

impl Finding<'_, '_> {
    fn edit(self, edit: impl FnOnce(&mut Diagnostic, &Document)) -> Self {
        let Self { document, mut finding } = self;
        if let Some(finding) = &mut finding {
            edit(finding, document);
        }
        Self { document, finding }
    }

    /// What to write beside the underlined text.
    pub(crate) fn label(self, text: impl Into<String>) -> Self {
        self.edit(|finding, _| finding.label = Some(text.into()))
    }

    /// Underlines the key instead of the value.
    pub(crate) fn at_key(self) -> Self {
        self.edit(|finding, document| {
            if let (Some(tree), Some(path)) = (document.tree(), &finding.path) {
                finding.span = Some(tree.key_span_of(path));
            }
        })
    }

    /// Underlines a part of the scalar at the path, given in bytes of its text.
    pub(crate) fn within(self, range: Range<usize>) -> Self {
        self.edit(|finding, document| {
            if let (Some(tree), Some(path)) = (document.tree(), &finding.path)
                && let Some((id, _)) = tree.find(path)
                && let Some(span) = tree.subspan(id, range)
            {
                finding.span = Some(span);
            }
        })
    }

    /// Points at a second place.
    pub(crate) fn also(self, path: &NodePath, text: impl Into<String>) -> Self {
        self.edit(|finding, document| {
            if let Some(span) = document.span_of(path) {
                finding.labels.push(Label { span, text: text.into() });
            }
        })
    }

    /// Says what to do.
    pub(crate) fn help(self, text: impl Into<String>) -> Self {
        self.edit(|finding, _| finding.help.push(text.into()))
    }

    /// Offers to write something else in place of the scalar at the path.
    pub(crate) fn replace(self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        match self.finding.as_ref().and_then(|finding| finding.path.clone()) {
            Some(path) => self.replace_all(&[path], title, &replacement.into()),
            None => self,
        }
    }

    /// Offers to write something else in place of every one of these scalars.
    pub(crate) fn replace_all(self, paths: &[NodePath], title: impl Into<String>, replacement: &str) -> Self {
        let Some(tree) = self.document.tree().filter(|_| self.finding.is_some()) else { return self };
        let nodes = paths.iter().filter_map(|path| tree.find(path));
        let edits = nodes
            .map(|(id, _)| Edit { span: tree.node(id).span, replacement: replacement.to_owned() })
            .collect();
        self.fix(title, edits)
    }

    /// Offers a repair.
    pub(crate) fn fix(self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.edit(|finding, _| {
            if !edits.is_empty() {
                finding.fix = Some(Fix { title: title.into(), edits });
            }
        })
    }
}

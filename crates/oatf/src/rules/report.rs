//! Where checks put what they find.

use std::ops::Range;

use super::Rule;
use crate::diagnostic::{Diagnostic, Edit, Label};
use crate::model::Document;
use crate::node_path::NodePath;

/// A rule reports this many violations; of more it says only that there are more. A hostile document can
/// have a hundred thousand, each of which costs a search for its place.
const MAX_PER_RULE: usize = 100;

/// Collects findings, and knows where in the source they stand.
pub(crate) struct Report<'d> {
    document: &'d Document,
    unreadable: &'d [NodePath],
    findings: Vec<Diagnostic>,
    /// The rule that reported last, and how often it has. Rules run one after the other.
    last: (&'static str, usize),
}

impl<'d> Report<'d> {
    pub(super) fn new(document: &'d Document, unreadable: &'d [NodePath]) -> Self {
        Self { document, unreadable, findings: Vec::new(), last: ("", 0) }
    }

    /// Reports a violation at a path: the value there, or the nearest thing above it, is underlined.
    ///
    /// What comes back adds labels, help and fixes to the finding.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        path: NodePath,
        message: impl Into<String>,
    ) -> Finding<'_, 'd> {
        let mut finding = Diagnostic::new(rule.severity, rule.code, message);
        self.last = (rule.code, if self.last.0 == rule.code { self.last.1 + 1 } else { 1 });
        if self.last.1 <= MAX_PER_RULE {
            finding.span = self.document.span_of(&path);
            finding.path = Some(path);
        } else {
            // Takes the place of the one before it, and stands for all that follow.
            let rest = self.last.1 - MAX_PER_RULE;
            finding.message = format!("{rest} more of these: {}", rule.title);
            finding.span = self.findings.last().and_then(|last| last.span);
            if rest > 1 {
                self.findings.pop();
            }
        }
        self.findings.push(finding);
        Finding { document: self.document, at: self.findings.len() - 1, findings: &mut self.findings }
    }

    /// Whether the value at `path` was there and could not be read, so that nothing should be said about
    /// its absence.
    pub(crate) fn is_unreadable(&self, path: &NodePath) -> bool {
        self.unreadable.iter().any(|unreadable| unreadable.is_prefix_of(path) || path == unreadable)
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

impl Finding<'_, '_> {
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
        let path = self.edit().path.clone();
        if let (Some(tree), Some(path)) = (self.document.tree(), path)
            && let Some((id, _)) = tree.find(&path)
            && let Some(span) = tree.subspan(id, range)
        {
            self.edit().span = Some(span);
        }
        self
    }

    /// Points at a second place.
    pub(crate) fn also(mut self, path: &NodePath, text: impl Into<String>) -> Self {
        if let Some(span) = self.document.span_of(path) {
            self.edit().labels.push(Label { span, text: text.into() });
        }
        self
    }

    /// Says what to do.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.edit().help.push(text.into());
        self
    }

    /// Offers to write something else in place of the scalar at the path.
    pub(crate) fn replace(mut self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        let Some(path) = self.edit().path.clone() else { return self };
        self.replace_all(&[path], title, &replacement.into())
    }

    /// Offers to write something else in place of every one of these scalars.
    pub(crate) fn replace_all(self, paths: &[NodePath], title: impl Into<String>, replacement: &str) -> Self {
        let Some(tree) = self.document.tree() else { return self };
        let nodes = paths.iter().filter_map(|path| tree.find(path));
        let edits = nodes
            .map(|(id, _)| Edit { span: tree.node(id).span, replacement: replacement.to_owned() })
            .collect();
        self.fix(title, edits)
    }

    /// Offers a repair.
    pub(crate) fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        if !edits.is_empty() {
            self.edit().fix = Some(crate::diagnostic::Fix { title: title.into(), edits });
        }
        self
    }
}

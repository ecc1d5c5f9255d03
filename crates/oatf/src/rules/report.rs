//! Where checks put what they find.

use std::fmt;
use std::ops::Range;

use sortie_expr::re2::{self, Regex};
use sortie_syntax::yaml::{Node, NodeKind, Tree};
use sortie_syntax::{Diagnostic, DiagnosticSeverity, Edit, Findings, Label, NodePath, Segment, Span};

use super::{Rule, edits};
use crate::compile::CompiledCondition;
use crate::model::{Condition, Document, MatchCondition};

/// Messages, labels and help are cut after so many bytes: names in a document may be megabytes long.
const MAX_TEXT: usize = 1000;

/// What rules may spend on trying out the patterns of a document, in transitions of automata: a search looks at
/// all of them for every byte when it is at its slowest, about one in a nanosecond.
const EFFORT: usize = 64_000_000;

/// Compiling takes as long as looking so often at each transition.
const COMPILING_EFFORT: usize = 250;

/// Collects findings, and knows where in the source they stand.
pub struct RuleReport<'d> {
    document: &'d Document,
    /// What could not be read, sorted.
    unreadable: Vec<&'d NodePath>,
    findings: Findings,
    /// The rule that is being checked.
    rule: sortie_syntax::Rule,
    /// Takes what is not kept.
    spare: Diagnostic,
    /// What may still be spent on trying out patterns.
    effort: usize,
}

impl<'d> RuleReport<'d> {
    pub(super) fn new(document: &'d Document, unreadable: &'d [NodePath]) -> Self {
        let mut unreadable: Vec<_> = unreadable.iter().collect();
        unreadable.sort_unstable();
        let spare = Diagnostic::new(DiagnosticSeverity::Warning, "", "");
        let rule = Rule::warning("", "", "");
        Self { document, unreadable, findings: Findings::default(), rule, spare, effort: EFFORT }
    }

    /// What is reported from here on violates this rule.
    pub(super) fn begin(&mut self, rule: &Rule) {
        self.rule = rule.words();
    }

    /// Reports a violation of the rule that is being checked, at a path: the value there, or the nearest thing above it, is underlined.
    ///
    /// What comes back adds labels, help and fixes to the finding. A finding about what could not be read is
    /// dropped: it was reported when it could not be read.
    pub fn add(&mut self, path: impl Into<NodePath>, message: impl Into<String>) -> NewFinding<'_, 'd> {
        let path = path.into();
        if self.is_unreadable(&path) || !self.findings.has_room(self.rule.severity) {
            self.spare.labels.clear();
            self.spare.help.clear();
            return NewFinding { document: None, finding: &mut self.spare };
        }
        let mut finding = Diagnostic::new(self.rule.severity, self.rule.code, bounded(message.into()));
        finding.span = self.document.span_of(&path);
        finding.path = Some(path);
        NewFinding { document: Some(self.document), finding: self.findings.keep(finding) }
    }

    /// Whether no more findings of the rule are kept, so that nothing should be spent on this one. It is
    /// counted, then.
    pub(crate) fn leaves_out(&mut self) -> bool {
        self.findings.is_full(self.rule.severity) && !self.findings.has_room(self.rule.severity)
    }

    /// Whether the value at `path` was there and could not be read, so that nothing should be said about
    /// its absence.
    pub(crate) fn is_unreadable(&self, path: &NodePath) -> bool {
        if self.unreadable.is_empty() {
            return false;
        }
        let is_listed = |end: usize| {
            let above = &path.segments()[..end];
            self.unreadable.binary_search_by(|other| other.segments().cmp(above)).is_ok()
        };
        (0..=path.segments().len()).any(is_listed)
    }

    /// Whether something at `path`, above it or below it could not be read, so that what seems to be missing
    /// there may only be misspelt.
    pub(crate) fn is_damaged(&self, path: impl Into<NodePath>) -> bool {
        if self.unreadable.is_empty() {
            return false;
        }
        let path = path.into();
        let from = self.unreadable.partition_point(|other| **other < path);
        let below = self.unreadable.get(from).is_some_and(|other| path.is_prefix_of(other));
        below || self.is_unreadable(&path)
    }

    /// Whether a value of this kind may have been there and could not be read: one of its own, or what it
    /// would stand in. `*` is any position of a list.
    pub(crate) fn may_lack(&self, kind: &[&str]) -> bool {
        let fits = |(segment, wanted): (&Segment, &&str)| match segment {
            Segment::Key(key) => key == wanted,
            Segment::Index(_) => *wanted == "*",
        };
        self.unreadable
            .iter()
            .any(|path| path.segments().len() <= kind.len() && path.segments().iter().zip(kind).all(fits))
    }

    /// A pattern to try out; `None` where it is none, or where a hostile document has used up all effort.
    pub fn compile_regex(&mut self, pattern: &str) -> Option<Regex> {
        self.pay_for(pattern)?;
        Regex::new(pattern).ok()
    }

    /// A condition to try out; `None` as in [`Self::compile_regex`].
    pub fn compile(&mut self, condition: &Condition) -> Option<CompiledCondition> {
        if let Condition::Match(MatchCondition { regex: Some(pattern), .. }) = condition {
            self.pay_for(pattern)?;
        }
        CompiledCondition::new(condition).ok()
    }

    fn pay_for(&mut self, pattern: &str) -> Option<()> {
        let cost = re2::cost(pattern).ok()?;
        self.affords(cost.saturating_mul(COMPILING_EFFORT)).then_some(())
    }

    /// Whether a condition may be tried out on so many bytes of text.
    pub fn can_try(&mut self, condition: &CompiledCondition, bytes: usize) -> bool {
        self.affords(bytes.saturating_mul(condition.size()))
    }

    fn affords(&mut self, effort: usize) -> bool {
        let left = self.effort.checked_sub(effort);
        self.effort = left.unwrap_or(0);
        left.is_some()
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.findings.finish()
    }
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
    text
}

/// A text of the document as messages show it: all of it, unless it is so long that saying it again for every
/// finding would cost more than finding it.
pub(crate) struct Shown<'t>(pub(crate) &'t str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 120;
        let shown = &self.0[..self.0.floor_char_boundary(SHOWN)];
        f.write_str(shown)?;
        if shown.len() < self.0.len() { f.write_str("…") } else { Ok(()) }
    }
}

/// A finding that was just reported.
pub struct NewFinding<'r, 'd> {
    /// `None` when the finding is not kept.
    document: Option<&'d Document>,
    finding: &'r mut Diagnostic,
}

#[expect(
    clippy::return_self_not_must_use,
    reason = "the finding is kept, whether more is said about it or not"
)]
impl<'d> NewFinding<'_, 'd> {
    fn tree(&self) -> Option<&'d Tree> {
        self.document?.tree()
    }

    /// What to write beside the underlined text.
    pub fn label(self, text: impl Into<String>) -> Self {
        self.finding.label = Some(bounded(text.into()));
        self
    }

    /// Underlines the key instead of the value.
    pub fn at_key(self) -> Self {
        if let (Some(tree), Some(path)) = (self.tree(), &self.finding.path) {
            self.finding.span = Some(tree.key_span_of(path));
        }
        self
    }

    /// Underlines a part of the scalar at the path, given in bytes of its text.
    pub fn within(self, range: Range<usize>) -> Self {
        if let Some(span) = self.part(range) {
            self.finding.span = Some(span);
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
        match self.node() {
            Some(Node { kind: NodeKind::Scalar(..), span, .. }) if !span.is_empty() => {
                self.fix(title, vec![Edit { span, replacement: replacement.into() }])
            }
            _ => self,
        }
    }

    /// Offers the word that was probably meant in place of the scalar at the path, without quotes. What the repair does
    /// is a verb and the word.
    pub(crate) fn suggest_word(self, verb: &str, meant: &str) -> Self {
        self.label(format!("did you mean `{meant}`?")).replace_value(format!("{verb} `{meant}`"), meant)
    }

    /// Offers the same, in quotes where they are needed.
    pub fn suggest_text(self, verb: &str, meant: &str) -> Self {
        self.suggest(verb, meant, edits::replace_scalar)
    }

    /// Offers the same in place of the key at the path.
    pub fn suggest_key(self, verb: &str, meant: &str) -> Self {
        self.suggest(verb, meant, edits::rename_key)
    }

    fn suggest(self, verb: &str, meant: &str, edit: fn(&Document, &NodePath, &str) -> Vec<Edit>) -> Self {
        let edits = self.document.zip(self.finding.path.as_ref());
        let edits = edits.map(|(document, path)| edit(document, path, meant)).unwrap_or_default();
        self.label(format!("did you mean `{meant}`?")).fix(format!("{verb} `{meant}`"), edits)
    }

    /// Offers to write something else in place of every one of these scalars.
    pub(crate) fn replace_all(self, paths: &[NodePath], title: impl Into<String>, replacement: &str) -> Self {
        let Some(tree) = self.tree() else { return self };
        let nodes = paths.iter().filter_map(|path| tree.find(path));
        let edits = nodes
            .map(|(id, _)| Edit { span: tree.node(id).span, replacement: replacement.to_owned() })
            .collect();
        self.fix(title, edits)
    }

    /// Offers to put a field in front of the others of the mapping at `path`.
    pub(crate) fn insert_field(self, path: &NodePath, field: &str, value: &str) -> Self {
        let Some(tree) = self.tree() else { return self };
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
        let path = self.finding.path.as_ref()?;
        let tree = self.tree()?;
        Some(tree.node(tree.find(path)?.0))
    }

    /// The span of a part of the scalar at the path. Very long ones are not searched: it takes time in
    /// proportion to their length, for each finding in them.
    fn part(&self, range: Range<usize>) -> Option<Span> {
        const LONGEST: usize = 16 * 1024;
        let node = self.node().filter(|node| node.span.range().len() <= LONGEST)?;
        self.tree()?.subspan(node.id, range)
    }

    /// Points at a second place.
    pub fn also(self, path: &NodePath, text: impl Into<String>) -> Self {
        if let Some(span) = self.document.and_then(|document| document.span_of(path)) {
            self.finding.labels.push(Label { span, text: bounded(text.into()) });
        }
        self
    }

    /// Points at a second place by its key.
    pub(crate) fn also_key(self, path: &NodePath, text: impl Into<String>) -> Self {
        if let Some(tree) = self.tree() {
            let span = tree.key_span_of(path);
            self.finding.labels.push(Label { span, text: bounded(text.into()) });
        }
        self
    }

    /// Says what to do.
    pub fn help(self, text: impl Into<String>) -> Self {
        self.finding.help.push(bounded(text.into()));
        self
    }

    /// Offers a change of what the document says, which a person confirms. It is shown as help, with the text to write.
    pub fn suggestion(self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        if edits.is_empty() {
            return self;
        }
        let title = title.into();
        let help = format!("suggestion: {title} (`sortie check --fix --suggested` does)");
        self.finding.suggestion = Some(sortie_syntax::Fix { title, edits });
        self.help(help)
    }

    /// Offers a repair.
    pub fn fix(self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        if !edits.is_empty() {
            self.finding.fix = Some(sortie_syntax::Fix { title: title.into(), edits });
        }
        self
    }
}

//! What can be folded: collections and texts of several lines, and comments.

use lsp_types::{FoldingRange, FoldingRangeKind};
use sortie_syntax::Span;
use sortie_syntax::yaml::{NodeId, NodeKind};

use crate::document::{OpenDocument, View};
use crate::kind::DocumentKind;
use crate::text::Text;

pub(crate) fn ranges(document: &OpenDocument) -> Vec<FoldingRange> {
    let text = &document.text;
    if document.kind == DocumentKind::Other {
        return Vec::new();
    }
    let mut found = comments(text);
    match document.view() {
        Some(view) => below(&view, view.tree.root().id, &mut found),
        None => found.extend(tables(text)),
    }
    found.sort_by_key(|range| (range.start_line, range.end_line));
    found
}

// Nesting is bounded by the parser.
fn below(view: &View<'_>, id: NodeId, found: &mut Vec<FoldingRange>) {
    match view.tree.node(id).kind {
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let (key, value) = (view.tree.node(entry.key).span, view.tree.node(entry.value).span);
                let whole = view.current(Span::new(key.start, value.end.max(key.end)));
                found.extend(whole.and_then(|span| lines(view.text, span)));
                below(view, entry.value, found);
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                // An item is folded as such; a scalar over several lines is, too.
                found
                    .extend(view.current(view.tree.node(*item).span).and_then(|span| lines(view.text, span)));
                below(view, *item, found);
            }
        }
        NodeKind::Scalar(..) | NodeKind::Refused => {}
    }
}

/// The lines of a span, where there are several. Blank lines and comments behind it are not part of it.
fn lines(text: &Text, span: Span) -> Option<FoldingRange> {
    let start = text.line_of(span.start);
    let mut end = text.line_of(span.end);
    let is_empty = |line: usize| {
        let content = text.line(line).trim_start();
        content.is_empty() || content.starts_with('#')
    };
    // A block ends where the next thing begins.
    if text.line_start(end) + indentation(text.line(end)) >= span.end {
        end = end.saturating_sub(1);
    }
    while end > start && is_empty(end) {
        end -= 1;
    }
    (end > start).then(|| folding(start, end, None))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn comments(text: &Text) -> Vec<FoldingRange> {
    let is_comment = |line: usize| text.line(line).trim_start().starts_with('#');
    runs(text, is_comment, &FoldingRangeKind::Comment)
}

/// The tables of TOML: from a header to the line before the next.
fn tables(text: &Text) -> Vec<FoldingRange> {
    let mut found = Vec::new();
    let mut start = None;
    let mut last = 0;
    for line in 0..text.line_count() {
        if text.line(line).starts_with('[') {
            found.extend(start.filter(|start| last > *start).map(|start| folding(start, last, None)));
            start = Some(line);
        }
        if !text.line(line).trim().is_empty() {
            last = line;
        }
    }
    found.extend(start.filter(|start| last > *start).map(|start| folding(start, last, None)));
    found
}

fn runs(text: &Text, wanted: impl Fn(usize) -> bool, kind: &FoldingRangeKind) -> Vec<FoldingRange> {
    let mut found = Vec::new();
    let mut start = None;
    for line in 0..=text.line_count() {
        match (start, line < text.line_count() && wanted(line)) {
            (None, true) => start = Some(line),
            (Some(first), false) => {
                if line - first > 1 {
                    found.push(folding(first, line - 1, Some(kind.clone())));
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn folding(start: usize, end: usize, kind: Option<FoldingRangeKind>) -> FoldingRange {
    let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    FoldingRange { start_line: line(start), end_line: line(end), kind, ..FoldingRange::default() }
}

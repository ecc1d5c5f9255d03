//! Scalars as their author wrote them, with no more changed than needs to be.

use std::borrow::Cow;

use sortie_syntax::shown::{all_visible, is_visible};
use sortie_syntax::yaml::Style;
use sortie_syntax::yaml::emit::EmitNode;
use sortie_syntax::yaml::style::{double_quoted, escape, header};

/// A plain or quoted scalar; `source` is how it was written, `text` what it says.
pub(super) fn flow_scalar<'t>(source: &'t str, text: &'t str, style: Style) -> EmitNode<'t> {
    let shown = || EmitNode::Line(Cow::Owned(double_quoted(text)));
    match style {
        Style::DoubleQuoted => match lines(source, style) {
            Some(lines) => {
                let lines: Vec<_> = lines.into_iter().map(show_in_quotes).collect();
                one_or_many(lines)
            }
            None => shown(),
        },
        Style::SingleQuoted if !source.contains('\n') && !text.contains(['\\', '"']) => shown(),
        _ if !text.split('\n').all(all_visible) => shown(),
        _ => match lines(source, style) {
            Some(lines) => one_or_many(lines.into_iter().map(Cow::Borrowed).collect()),
            None => shown(),
        },
    }
}

fn one_or_many(mut lines: Vec<Cow<'_, str>>) -> EmitNode<'_> {
    match lines.pop() {
        Some(only) if lines.is_empty() => EmitNode::Line(only),
        Some(last) => {
            lines.push(last);
            EmitNode::Lines(lines)
        }
        None => EmitNode::Line(Cow::Borrowed("")),
    }
}

/// The lines of a scalar without what folding takes away. `None` when a line ends in a space that is escaped.
fn lines(source: &str, style: Style) -> Option<Vec<&str>> {
    let blanks = [' ', '\t'];
    let count = source.split('\n').count();
    let mut lines = Vec::with_capacity(count);
    for (at, line) in source.split('\n').enumerate() {
        let line = if at == 0 { line } else { line.trim_start_matches(blanks) };
        let trimmed = if at + 1 == count { line } else { line.trim_end_matches(blanks) };
        let backslashes = trimmed.len() - trimmed.trim_end_matches('\\').len();
        if style == Style::DoubleQuoted && trimmed.len() < line.len() && backslashes % 2 == 1 {
            return None;
        }
        lines.push(trimmed);
    }
    Some(lines)
}

/// Makes what hides between double quotes visible, and leaves escapes as they are.
fn show_in_quotes(line: &str) -> Cow<'_, str> {
    if all_visible(line) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len() + 16);
    let mut before = None;
    let mut chars = line.chars();
    while let Some(next) = chars.next() {
        if next == '\\' {
            match chars.next() {
                // A backslash before a raw tab is another way to write one.
                Some('\t') => shown.push_str("\\t"),
                Some(escaped) => shown.extend(['\\', escaped]),
                None => shown.push('\\'),
            }
            before = None;
            continue;
        }
        if is_visible(before, next) {
            shown.push(next);
        } else {
            escape(next, &mut shown);
        }
        before = Some(next);
    }
    Cow::Owned(shown)
}

/// A literal or folded block, laid out: its node, and how many lines of the source are content.
pub(super) struct Block<'t> {
    pub(super) node: EmitNode<'t>,
    pub(super) content_lines: usize,
    /// How many bytes of `body` belong to it.
    pub(super) length: usize,
}

/// A block scalar. `body` starts at the line below the header; its lines are indented more than `column`, and by
/// what the header says, if it does.
pub(super) fn block_scalar<'t>(
    indicator: char,
    column: usize,
    explicit: Option<usize>,
    body: &'t str,
    text: &'t str,
) -> Block<'t> {
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let indentation = explicit.unwrap_or_else(|| {
        let first = body.split('\n').find(|line| !line.trim_start_matches(' ').is_empty());
        // A first line that is indented less is not a part of the block, which is empty then.
        first.map(spaces).filter(|found| *found > column).unwrap_or(usize::MAX)
    });
    let mut lines = Vec::new();
    let mut length = 0;
    for line in body.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let blank = bare.bytes().all(|byte| byte == b' ');
        if !blank && spaces(bare) < indentation {
            break;
        }
        length += line.len();
        lines.push(Cow::Borrowed(bare.get(indentation..).unwrap_or("")));
    }
    let kept = text.len() - text.trim_end_matches('\n').len();
    let all_lines = lines.len();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    if lines.is_empty() {
        // Nothing, or nothing but line feeds, has no block that shows it.
        let node = EmitNode::Line(Cow::Owned(double_quoted(text)));
        return Block { node, content_lines: all_lines, length };
    }
    let content_lines = if kept > 1 { all_lines } else { lines.len() };
    lines.extend((1..kept).map(|_| Cow::Borrowed("")));
    Block { node: EmitNode::Block { header: header(indicator, &lines, kept), lines }, content_lines, length }
}

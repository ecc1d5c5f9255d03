//! Where a part of a scalar's text stands in the source, in spite of quotes, escapes and indentation.

use std::ops::Range;

use super::tree::{NodeId, NodeKind, Style, Tree};
use crate::source::Span;

impl Tree {
    /// The span of a part of a scalar's text, given in bytes of that text.
    ///
    /// `None` where the way back is not plain to see (folded scalars, quoted ones over several lines).
    pub fn subspan(&self, id: NodeId, range: Range<usize>) -> Option<Span> {
        let node = self.node(id);
        let NodeKind::Scalar(text, style) = node.kind else { return None };
        if range.start > range.end || range.end > text.len() {
            return None;
        }
        let source = self.source().slice(node.span);
        let offsets = match style {
            Style::Plain if source == text => None,
            Style::SingleQuoted => Some(single_quoted(source)?),
            Style::DoubleQuoted => Some(double_quoted(source)?),
            Style::Literal => Some(literal(source, text)?),
            Style::Plain | Style::Folded => return None,
        };
        let at = |offset: usize| match &offsets {
            None => Some(offset),
            Some(offsets) => offsets.get(offset).copied(),
        };
        let start = at(range.start)?;
        let end = if range.is_empty() { start } else { at(range.end)? };
        Some(Span::new(node.span.start + start, node.span.start + end))
    }
}

/// For each byte of the text, and its end, the byte of the source it comes from. `piece` says of the byte at a place how many
/// bytes of the text come from how many of the source there.
fn quoted(source: &str, piece: impl Fn(usize) -> Option<(usize, usize)>) -> Option<Vec<usize>> {
    let mut offsets = Vec::with_capacity(source.len());
    let end = source.len().checked_sub(1)?;
    let mut at = 1;
    while at < end {
        let (bytes, length) = piece(at).filter(|_| source.as_bytes()[at] != b'\n')?;
        offsets.extend(std::iter::repeat_n(at, bytes));
        at += length;
    }
    offsets.push(end);
    Some(offsets)
}

fn single_quoted(source: &str) -> Option<Vec<usize>> {
    quoted(source, |at| Some((1, if source.as_bytes()[at] == b'\'' { 2 } else { 1 })))
}

fn double_quoted(source: &str) -> Option<Vec<usize>> {
    quoted(source, |at| {
        if source.as_bytes()[at] != b'\\' {
            return Some((1, 1));
        }
        let digits = match source.as_bytes().get(at + 1)? {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            b'\n' | b'\r' => return None,
            // NEL, no-break space, and the line and paragraph separators are longer than a byte.
            b'N' | b'_' => return Some((2, 2)),
            b'L' | b'P' => return Some((3, 2)),
            _ => return Some((1, 2)),
        };
        let code = u32::from_str_radix(source.get(at + 2..at + 2 + digits)?, 16).ok()?;
        Some((char::from_u32(code)?.len_utf8(), 2 + digits))
    })
}

fn literal(source: &str, text: &str) -> Option<Vec<usize>> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        // The indentation differs from line to line in the source only where the text has it too.
        let source_line = source[at..].split_inclusive('\n').next().unwrap_or_default();
        let indent = source_line.trim_end_matches(['\n', '\r']).len().checked_sub(bare.len())?;
        if source_line.get(indent..indent + bare.len())? != bare {
            return None;
        }
        offsets.extend((0..line.len()).map(|byte| at + indent + byte));
        at += source_line.len();
    }
    offsets.push(at.min(source.len()));
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_path::NodePath;

    #[track_caller]
    fn part(yaml: &str, wanted: &str) -> Option<String> {
        let (tree, findings) = Tree::parse(yaml);
        let tree = tree.unwrap_or_else(|| panic!("{findings:?}"));
        let (id, _) = tree.find(&NodePath::root().key("a")).unwrap();
        let NodeKind::Scalar(text, _) = tree.node(id).kind else { panic!("no scalar") };
        let start = text.find(wanted).unwrap();
        let span = tree.subspan(id, start..start + wanted.len())?;
        Some(tree.source().slice(span).to_owned())
    }

    #[test]
    fn a_part_is_found_behind_quotes_escapes_and_indentation() {
        assert_eq!(part("a: x (?!y) z", "(?!").as_deref(), Some("(?!"));
        assert_eq!(part("a: 'it''s (?!y)'", "(?!").as_deref(), Some("(?!"));
        assert_eq!(part(r#"a: "\\d\u00e9\L (?!y)""#, "(?!").as_deref(), Some("(?!"));
        assert_eq!(part(r#"a: "x\\d""#, "\\d").as_deref(), Some("\\\\d"));
        assert_eq!(part("a: |\n  one\n    two (?!y)\n  three\n", "(?!").as_deref(), Some("(?!"));
        assert_eq!(part("a: >\n  one\n  two (?!y)\n", "(?!"), None);
    }
}

//! Places in a source text: byte spans, and the lines and columns people read.

use std::sync::Arc;

/// A half-open range of bytes in a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span from `start` up to, but not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The span as a range, for slicing.
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start..self.end
    }

    /// Whether the span covers no byte at all.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
}

/// A source text that knows where its lines begin.
#[derive(Clone, Debug)]
pub struct Source {
    text: Arc<str>,
    line_starts: Arc<[usize]>,
}

impl Source {
    /// Indexes the lines of `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        let line_starts =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        Self { text, line_starts }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty when the span does not lie on character boundaries of this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The first byte of the line that a byte stands in.
    pub fn line_start(&self, offset: usize) -> usize {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        self.line_starts[line - 1] // the first entry is 0, so `line` is at least 1
    }

    /// The line and column of a byte offset. An offset past the end gives the end.
    pub fn line_column(&self, offset: usize) -> LineColumn {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let line_start = self.line_start(offset);
        LineColumn { line, column: self.text[line_start..offset].chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let source = Source::new("ab\nçd\n");
        assert_eq!(source.line_column(0), LineColumn { line: 1, column: 1 });
        assert_eq!(source.line_column(5), LineColumn { line: 2, column: 2 });
        assert_eq!(source.line_column(4), LineColumn { line: 2, column: 1 }, "inside ç");
        assert_eq!(source.line_column(99), LineColumn { line: 3, column: 1 });
    }
}

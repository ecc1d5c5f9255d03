//! The error of an expression that does not compile.

use std::ops::Range;

/// Why an expression is not CEL, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong, in one sentence.
    pub message: String,
    /// The offending bytes of the source. An unexpected end is the empty range at the end.
    pub span: Option<Range<usize>>,
    /// What to write instead, where that is known.
    pub help: Option<String>,
}

impl SyntaxError {
    pub(super) fn new(message: impl Into<String>, span: impl Into<Range<usize>>) -> Self {
        Self { message: message.into(), span: Some(span.into()), help: None }
    }

    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A byte range of the source. [`super::limits::MAX_SOURCE_BYTES`] keeps it within `u32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        // The source is at most 64 KiB, so neither conversion saturates.
        let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: narrow(start), end: narrow(end) }
    }

    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    pub(super) fn end(self) -> usize {
        self.end as usize
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// From the start of this one to the end of `other`.
    pub(super) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.range()
    }
}

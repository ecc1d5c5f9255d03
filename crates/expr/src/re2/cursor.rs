//! A position in a pattern.

use std::ops::Range;

/// Reads a pattern from left to right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'p> {
    pattern: &'p str,
    at: usize,
    /// Where the last `:]` is, so that many a `[:` without an end costs one search and not many.
    last_class_end: Option<usize>,
}

impl<'p> Cursor<'p> {
    pub(super) fn new(pattern: &'p str) -> Self {
        Self { pattern, at: 0, last_class_end: pattern.rfind(":]") }
    }

    /// The byte offset of what comes next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Steps over `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Reads up to the first `end` and steps over it; `None`, without moving, if there is none.
    pub(super) fn until(&mut self, end: &str) -> Option<&'p str> {
        let length = self.rest().find(end)?;
        let text = &self.rest()[..length];
        self.at += length + end.len();
        Some(text)
    }

    /// Reads up to the first `:]` and steps over it; `None`, without moving, if there is none.
    pub(super) fn until_class_end(&mut self) -> Option<&'p str> {
        self.last_class_end.filter(|&end| end >= self.at)?;
        self.until(":]")
    }

    /// Reads characters for as long as `wanted` holds.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'p str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// From `start` to here: what the last steps have read.
    pub(super) fn since(&self, start: usize) -> Range<usize> {
        start..self.at
    }

    /// From `start` to here, as text.
    pub(super) fn text_since(&self, start: usize) -> &'p str {
        &self.pattern[start..self.at]
    }
}

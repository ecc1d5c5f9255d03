//! What a match rests on.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::extension::flow::Decoding;

/// Excerpts are cut to this many characters.
pub const MAX_EXCERPT_CHARS: usize = 160;

/// Where a match was found, and what was there.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchEvidence {
    /// Path into the message with concrete positions (`tools[2].description`); empty for the whole message.
    pub path: String,
    /// What was there, as text, cut around the match. `None` when the match is that nothing was there.
    pub excerpt: Option<String>,
    /// Bytes of the value's text that matched, where an operator singles them out.
    pub range: Option<Range<usize>>,
    /// The same bytes in the excerpt, as far as it shows them.
    pub marked: Option<Range<usize>>,
    /// Line of the document that asked.
    pub line: Option<usize>,
    /// Score, for semantic indicators.
    pub score: Option<f64>,
    /// Where it came in, for a flow.
    pub origin: Option<FlowOrigin>,
}

/// Where a value that left had come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowOrigin {
    /// The message that it first came in by: its position in the trace.
    pub seq: u64,
    /// Path into that message, with concrete positions.
    pub path: String,
    /// First byte of the value, of the text at that path.
    pub start: usize,
    /// One past the last of them.
    pub end: usize,
    /// How it was encoded when it left, or `null` where it left as it was.
    pub encoding: Option<Decoding>,
}

impl MatchEvidence {
    /// What was found at a path, in a text.
    pub fn of(path: String, text: &str, range: Option<Range<usize>>) -> Self {
        let (excerpt, marked) = excerpt(text, range.clone());
        Self { path, excerpt: Some(excerpt), range, marked, line: None, score: None, origin: None }
    }

    pub(super) fn absent(path: String) -> Self {
        Self { path, excerpt: None, range: None, marked: None, line: None, score: None, origin: None }
    }
}

impl fmt::Display for MatchEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the message" } else { &self.path };
        match &self.excerpt {
            Some(excerpt) => write!(f, "{path}: {excerpt:?}")?,
            None => write!(f, "{path} is absent")?,
        }
        if let Some(score) = self.score {
            write!(f, " (score {score:.3})")?;
        }
        if let Some(FlowOrigin { seq, path, start, end, encoding }) = &self.origin {
            let path = if path.is_empty() { "the whole of it" } else { path };
            write!(f, ", which came in by message {seq} ({path}, bytes {start} to {end})")?;
            if let Some(encoding) = encoding {
                write!(f, " and left as {encoding}")?;
            }
        }
        Ok(())
    }
}

/// Cuts a text to [`MAX_EXCERPT_CHARS`], with the match in view, and says where it is there.
fn excerpt(text: &str, range: Option<Range<usize>>) -> (String, Option<Range<usize>>) {
    if text.len() <= MAX_EXCERPT_CHARS {
        return (text.to_owned(), range);
    }
    let at = range.as_ref().map_or(0, |range| range.start);
    // A third of the window goes before the match.
    let before = text[..at].char_indices().rev().take(MAX_EXCERPT_CHARS / 3).last();
    let start = before.map_or(at, |(start, _)| start);
    let window = &text[start..];
    let end = window.char_indices().nth(MAX_EXCERPT_CHARS).map_or(window.len(), |(end, _)| end);
    let head = if start > 0 { "…" } else { "" };
    let tail = if end < window.len() { "…" } else { "" };
    let marked = range.map(|range| {
        let shown = |offset: usize| offset.saturating_sub(start).min(end) + head.len();
        shown(range.start)..shown(range.end)
    });
    (format!("{head}{}{tail}", &window[..end]), marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_bounded_and_shows_the_match() {
        let text = format!("{}needle{}", "é".repeat(1000), "ß".repeat(1000));
        let at = text.find("needle").unwrap();
        let (cut, marked) = excerpt(&text, Some(at..at + 6));
        assert_eq!(&cut[marked.unwrap()], "needle", "{cut}");
        assert_eq!(cut.chars().count(), MAX_EXCERPT_CHARS + 2);
        assert_eq!(excerpt("short", Some(1..3)), ("short".to_owned(), Some(1..3)));
    }

    #[test]
    fn of_a_match_longer_than_the_excerpt_what_is_shown_is_marked() {
        let (cut, marked) = excerpt(&format!("…é{}", "ß".repeat(500)), Some(3..1005));
        assert_eq!(&cut[..5], "…é");
        assert_eq!(marked, Some(3..cut.len() - "…".len()));
    }
}

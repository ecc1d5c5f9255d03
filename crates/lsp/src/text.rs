//! The text of an open document, and the two ways to name a place in it: bytes, and lines with columns.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use sortie_syntax::Span;

/// What columns count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, which every editor knows.
    #[default]
    Utf16,
}

/// A text that knows where its lines begin. As the protocol has it, `\n`, `\r\n` and `\r` end a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    content: String,
    line_starts: Vec<usize>,
    encoding: PositionEncoding,
}

impl Text {
    pub(crate) fn new(text: String, encoding: PositionEncoding) -> Self {
        let line_starts = line_starts(&text);
        Self { content: text, line_starts, encoding }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.content
    }

    /// Replaces a range, or everything.
    pub(crate) fn apply(&mut self, change: &TextDocumentContentChangeEvent) {
        match change.range {
            Some(range) => {
                let span = self.span(range);
                self.content.replace_range(span.range(), &change.text);
            }
            None => self.content.clone_from(&change.text),
        }
        self.line_starts = line_starts(&self.content);
    }

    /// The byte at a position. What is beyond the end of a line, or of the text, is that end.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.line_starts.get(line).copied() else { return self.content.len() };
        let content = self.line(line);
        let column = position.character as usize;
        let within = match self.encoding {
            PositionEncoding::Utf8 => content.floor_char_boundary(column),
            PositionEncoding::Utf16 => {
                let mut units = 0;
                let fits = content.char_indices().find(|(_, letter)| {
                    units += letter.len_utf16();
                    units > column
                });
                fits.map_or(content.len(), |(at, _)| at)
            }
        };
        start + within
    }

    /// The position of a byte. One inside a character, or past the end, gives what is before it.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.content.floor_char_boundary(offset);
        // The first line starts at 0, so there is one at or before any byte.
        let line = self.line_starts.partition_point(|start| *start <= offset) - 1;
        let start = self.line_starts[line];
        // The end of a line has no columns of its own.
        let before = &self.content[start..offset.min(start + self.line(line).len())];
        let column = match self.encoding {
            PositionEncoding::Utf8 => before.len(),
            PositionEncoding::Utf16 if before.is_ascii() => before.len(),
            PositionEncoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        Position::new(count(line), count(column))
    }

    /// The bytes of a range; an end before the start is the start.
    pub(crate) fn span(&self, range: Range) -> Span {
        let start = self.offset(range.start);
        Span::new(start, self.offset(range.end).max(start))
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    /// The number of lines; a text that ends with a line feed has an empty one behind it.
    pub(crate) fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The line that a byte stands in, from zero.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset) - 1
    }

    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.line_starts.get(line).copied().unwrap_or(self.content.len())
    }

    /// A line without its end.
    pub(crate) fn line(&self, line: usize) -> &str {
        let end = self.line_starts.get(line + 1).copied().unwrap_or(self.content.len());
        self.content[self.line_start(line)..end].trim_end_matches(['\n', '\r'])
    }

    /// The end of the line that a byte stands in, without blanks.
    pub(crate) fn line_end(&self, offset: usize) -> usize {
        let line = self.line_of(offset);
        self.line_start(line) + self.line(line).trim_end().len()
    }
}

/// The protocol counts in 32 bits; no text that is kept is as long.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (at, byte) in bytes.iter().enumerate() {
        let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        if ends {
            starts.push(at + 1);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, encoding: PositionEncoding) -> Text {
        Text::new(text.to_owned(), encoding)
    }

    #[test]
    fn columns_count_what_was_agreed_on() {
        let (units, bytes) = (PositionEncoding::Utf16, PositionEncoding::Utf8);
        let content = "a: é🔒x\r\nb\rc\n";
        for (encoding, column) in [(units, 6), (bytes, 9)] {
            let text = text(content, encoding);
            let offset = content.find('x').unwrap();
            assert_eq!(text.position(offset), Position::new(0, column));
            assert_eq!(text.offset(Position::new(0, column)), offset);
            assert_eq!(text.position(content.find('c').unwrap()), Position::new(2, 0));
        }
    }

    #[test]
    fn places_that_do_not_exist_become_the_nearest_that_does() {
        let text = text("é🔒\nb", PositionEncoding::Utf16);
        assert_eq!(text.offset(Position::new(0, 2)), 2, "inside a surrogate pair");
        assert_eq!(text.offset(Position::new(0, 99)), 6, "behind the line");
        assert_eq!(text.offset(Position::new(99, 0)), 8, "behind the text");
        assert_eq!(text.position(1), Position::new(0, 0), "inside a character");
        assert_eq!(text.position(99), Position::new(1, 1));
        let reversed = Range::new(Position::new(1, 1), Position::new(0, 0));
        assert!(text.span(reversed).is_empty());
    }

    #[test]
    fn a_change_replaces_its_range_and_one_without_a_range_replaces_everything() {
        let mut text = text("one\ntwo\n", PositionEncoding::Utf16);
        let range = Some(Range::new(Position::new(0, 3), Position::new(1, 1)));
        text.apply(&TextDocumentContentChangeEvent { range, range_length: None, text: " and t".into() });
        assert_eq!((text.as_str(), text.line_count()), ("one and two\n", 2));
        text.apply(&TextDocumentContentChangeEvent { range: None, range_length: None, text: "x".into() });
        assert_eq!((text.as_str(), text.line_count()), ("x", 1));
    }
}

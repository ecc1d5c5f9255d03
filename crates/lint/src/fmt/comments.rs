//! The comments of a text, found by the parser, since only it knows a `#` in a string from one that is not.

use granit_parser::{Event, Parser};
use sortie_syntax::Span;
use sortie_syntax::yaml::MAX_NESTING;

/// A comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment<'t> {
    /// From its `#` to the end of its line.
    pub(super) span: Span,
    /// Its text, without trailing space.
    pub(super) text: &'t str,
    /// How far it is indented, when it has a line to itself.
    pub(super) column: Option<usize>,
}

/// All comments, in source order.
pub(super) fn comments(text: &str) -> Vec<Comment<'_>> {
    let options = granit_parser::options! {
        strict_indentation: true,
        emit_comments: true,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_NESTING,
        block_nesting_limit: MAX_NESTING,
    };
    let mut comments = Vec::new();
    for event in Parser::new_from_str_with_options(text, options) {
        // The text has been parsed before, so there are no errors; if there were, a comment would be missing,
        // and the final check would say so.
        let Ok((event, span)) = event else { break };
        if !matches!(event, Event::Comment(..)) {
            continue;
        }
        let offset = |marker: &granit_parser::Marker| marker.byte_offset().unwrap_or(0).min(text.len());
        let span = Span::new(offset(&span.start), offset(&span.end));
        let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let before = &text[line_start..span.start];
        let column = before.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(before.len());
        comments.push(Comment { span, text: text[span.range()].trim_end(), column });
    }
    // The comment beside the header of a block scalar comes after the scalar.
    comments.sort_by_key(|comment| comment.span.start);
    comments
}

/// The texts of all comments, whatever their order.
pub(super) fn sorted_texts(text: &str) -> Vec<&str> {
    let mut texts: Vec<_> = comments(text).iter().map(|comment| comment.text).collect();
    texts.sort_unstable();
    texts
}

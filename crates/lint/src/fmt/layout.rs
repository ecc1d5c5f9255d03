//! From a tree and its comments to what is written.
//!
//! The walk follows the source from its beginning to its end. `at` is how far it has come, `next` the first
//! comment it has not placed yet; a comment is placed where the walk meets it, or refused.

use std::borrow::Cow;

use sortie_syntax::yaml::emit::{self, Collection, EmitNode, Item, Row, STEP};
use sortie_syntax::yaml::style::{double_quoted, is_plain};
use sortie_syntax::yaml::{Entry, NodeId, NodeKind, Style, Tree};
use sortie_syntax::{Source, Span};

use super::FormatError;
use super::comments::{Comment, comments};
use super::scalar::{block_scalar, flow_scalar};
use super::shape::{DOCUMENT, Shape};

/// The widest line that a collection in flow style may make.
const WIDTH: usize = 100;

pub(super) fn lay_out(tree: &Tree, text: &str) -> Result<String, FormatError> {
    let mut layout = Layout {
        tree,
        text,
        source: tree.source(),
        comments: comments(text),
        next: 0,
        at: 0,
        content_until: 0,
    };
    layout.document()
}

struct Layout<'t> {
    tree: &'t Tree,
    text: &'t str,
    source: &'t Source,
    comments: Vec<Comment<'t>>,
    next: usize,
    at: usize,
    /// Blank lines before this byte are content of a block scalar.
    content_until: usize,
}

/// Where a collection stands.
#[derive(Clone, Copy)]
struct Place {
    /// The column of its items in the result.
    indent: usize,
    /// The column, in the source, of the items of the collection around it.
    around: Option<usize>,
    /// Where it ends, when it is written in flow style.
    flow_end: Option<usize>,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Slot {
    /// The place of the collection it is part of.
    place: Place,
    /// The column of its key or dash in the source.
    column: usize,
    /// How wide its line is in the result before it begins.
    width: usize,
}

impl Slot {
    fn within(self, flow_end: Option<usize>) -> Place {
        Place { indent: self.place.indent + STEP, around: Some(self.column), flow_end }
    }

    fn in_flow(self) -> bool {
        self.place.flow_end.is_some()
    }
}

impl<'t> Layout<'t> {
    fn document(&mut self) -> Result<String, FormatError> {
        let mut out = self.prologue()?;
        let root = self.tree.root();
        let mut collection = match root.kind {
            NodeKind::Mapping(entries) if !entries.is_empty() => {
                let flow_end = self.open(root.id, root.span);
                self.mapping(entries, &DOCUMENT, Place { indent: 0, around: None, flow_end })?
            }
            // A document is a mapping with fields, or it is none and was refused.
            _ => return Err(FormatError::Unsound { check: "it is not a mapping" }),
        };
        // What closes the file belongs to it whatever its indentation, also beside the end of a document.
        let foot = self.foot(0, self.text.len());
        collection.foot.extend(foot);
        while let Some(comment) = self.comments.get(self.next) {
            collection.foot.push(Row::Comment(comment.text));
            self.next += 1;
        }
        emit::write(&EmitNode::Mapping(collection), &mut out);
        Ok(out)
    }

    /// What stands before the root: directives, the mark that starts a document, and the comments before it.
    fn prologue(&mut self) -> Result<String, FormatError> {
        let mut out = String::new();
        let root = self.tree.root().span.start;
        let mut start = 0;
        let mut marker = None;
        for line in self.text[..root].split_inclusive('\n') {
            if line.starts_with("---") && line[3..].starts_with(|c: char| c.is_whitespace()) {
                marker = Some(start);
            }
            start += line.len();
        }
        let Some(marker) = marker else { return Ok(out) };
        let mut start = 0;
        for line in self.text[..marker].split_inclusive('\n') {
            if line.starts_with('%') {
                self.rows(start, &mut out)?;
                let directive = line.trim_end();
                let beside =
                    self.comments.get(self.next).filter(|comment| comment.span.start < start + line.len());
                if let Some(comment) = beside {
                    return Err(self.refuse(comment));
                }
                out.push_str(directive);
                out.push('\n');
            }
            start += line.len();
        }
        self.rows(marker, &mut out)?;
        self.at = marker + 3;
        out.push_str("---");
        if let Some(comment) = self.beside(false) {
            out.push_str("  ");
            out.push_str(comment);
        }
        out.push('\n');
        Ok(out)
    }

    fn rows(&mut self, until: usize, out: &mut String) -> Result<(), FormatError> {
        for row in self.above(until)? {
            match row {
                Row::Comment(text) => out.push_str(text),
                Row::Blank if out.is_empty() => continue,
                Row::Blank => {}
            }
            out.push('\n');
        }
        Ok(())
    }

    /// Goes behind the bracket that opens a collection in flow style; where that ends, if it is one.
    fn open(&mut self, id: NodeId, span: Span) -> Option<usize> {
        if !self.tree.is_flow(id) {
            return None;
        }
        // A pair alone in a list, `[a: b]`, is a mapping in flow style without braces.
        let bracket = self.text[span.range()].starts_with(['[', '{']);
        self.at = if bracket { span.start + 1 } else { span.start };
        Some(span.end)
    }

    // Recursion is bounded: a tree is at most `MAX_NESTING` deep.
    fn mapping(
        &mut self,
        entries: &'t [Entry],
        shape: &Shape,
        place: Place,
    ) -> Result<Collection<'t>, FormatError> {
        let mut items: Vec<(&'t str, Item<'t>)> = Vec::with_capacity(entries.len());
        let mut head = Vec::new();
        let mut column = None;
        for entry in entries {
            let key = self.tree.node(entry.key);
            let start = self.key_start(key.span.start);
            let mut above = self.above(start)?;
            if place.around.is_none() && items.is_empty() {
                // What a file begins with is about the file, whatever field happens to come first.
                head = std::mem::take(&mut above);
            }
            let column = *column.get_or_insert_with(|| start - self.source.line_start(start));
            let name = self.tree.key(*entry);
            let written = self.key(*entry, shape);
            self.at = key.span.end;
            self.colon()?;
            let slot = Slot { place, column, width: place.indent + written.chars().count() + 2 };
            let (value, beside) = self.value(entry.value, shape.child(name), slot)?;
            items.push((name, Item { above, key: Some(written), value, beside }));
        }
        let mut collection = Collection { items: shape.sort(items), foot: Vec::new() };
        settle(&mut collection);
        if let Some(first) = collection.items.first_mut() {
            if head.first() == Some(&Row::Blank) {
                head.remove(0);
            }
            first.above.splice(0..0, head);
        }
        collection.foot = self.close(place, column);
        Ok(collection)
    }

    fn sequence(
        &mut self,
        ids: &'t [NodeId],
        shape: &Shape,
        place: Place,
    ) -> Result<Collection<'t>, FormatError> {
        let mut items = Vec::with_capacity(ids.len());
        let mut column = None;
        for id in ids {
            // An item begins with its dash, which is the next thing that is not a space and no comment.
            let start = match place.flow_end {
                Some(_) => self.tree.node(*id).span.start,
                None => self.skip(self.at),
            };
            let above = self.above(start)?;
            let column = *column.get_or_insert_with(|| start - self.source.line_start(start));
            let slot = Slot { place, column, width: place.indent + 2 };
            self.at = if slot.in_flow() { start } else { start + 1 };
            let (value, beside) = self.value(*id, shape.item(), slot)?;
            items.push(Item { above, key: None, value, beside });
        }
        let mut collection = Collection { items, foot: Vec::new() };
        settle(&mut collection);
        collection.foot = self.close(place, column);
        Ok(collection)
    }

    /// A value and the comment beside it. `self.at` stands behind the colon or the dash.
    fn value(
        &mut self,
        id: NodeId,
        shape: &Shape,
        slot: Slot,
    ) -> Result<(EmitNode<'t>, Option<&'t str>), FormatError> {
        let node = self.tree.node(id);
        match node.kind {
            NodeKind::Scalar(text, Style::Literal | Style::Folded) => self.block(text, slot),
            NodeKind::Scalar(text, style) => {
                if !node.span.is_empty() {
                    self.no_comment_before(node.span.start)?;
                    self.at = node.span.end;
                }
                let source = self.source.slice(node.span);
                let value = flow_scalar(source, text, style);
                Ok((value, self.beside(slot.in_flow())))
            }
            NodeKind::Sequence(_) | NodeKind::Mapping(_) if self.tree.is_flow(id) => {
                self.flow(id, shape, slot)
            }
            NodeKind::Sequence(items) => {
                let beside = self.beside(false);
                Ok((EmitNode::Sequence(self.sequence(items, shape, slot.within(None))?), beside))
            }
            NodeKind::Mapping(entries) => {
                let beside = self.beside(false);
                Ok((EmitNode::Mapping(self.mapping(entries, shape, slot.within(None))?), beside))
            }
            NodeKind::Refused => Err(FormatError::Unsound { check: "an alias has no text" }),
        }
    }

    /// A collection in flow style: as it is where that is allowed, in block style otherwise.
    fn flow(
        &mut self,
        id: NodeId,
        shape: &Shape,
        slot: Slot,
    ) -> Result<(EmitNode<'t>, Option<&'t str>), FormatError> {
        let span = self.tree.node(id).span;
        self.no_comment_before(span.start)?;
        // What is empty has no other style, however far to the right it stands.
        let commented = self.comments.get(self.next).is_some_and(|comment| comment.span.start < span.end);
        if !commented
            && let Some(line) = self.on_one_line(id, shape)
            && (line.len() == 2 || slot.width + line.chars().count() <= WIDTH)
        {
            self.at = span.end;
            return Ok((EmitNode::Line(Cow::Owned(line)), self.beside(slot.in_flow())));
        }
        let place = slot.within(self.open(id, span));
        let beside = self.beside(false);
        let node = match self.tree.node(id).kind {
            NodeKind::Sequence(items) if !items.is_empty() => {
                EmitNode::Sequence(self.sequence(items, shape, place)?)
            }
            NodeKind::Mapping(entries) if !entries.is_empty() => {
                EmitNode::Mapping(self.mapping(entries, shape, place)?)
            }
            // A comment, and nothing that it could be about.
            _ => return Err(self.refuse_next()),
        };
        self.no_comment_before(span.end)?;
        self.at = span.end;
        // What stood behind the closing bracket is about the whole, which now begins with its key.
        match (beside, self.beside(slot.in_flow())) {
            (Some(_), Some(_)) => Err(self.refuse(&self.comments[self.next - 1])), // the one just taken
            (before, after) => Ok((node, before.or(after))),
        }
    }

    /// A collection of scalars on one line; `None` if it holds anything else.
    fn on_one_line(&self, id: NodeId, shape: &Shape) -> Option<String> {
        let scalar = |id: NodeId| {
            let node = self.tree.node(id);
            match node.kind {
                NodeKind::Sequence([]) => Some(Cow::Borrowed("[]")),
                NodeKind::Mapping([]) => Some(Cow::Borrowed("{}")),
                // Two brackets of a list of nothing but nothing, `{a: }`, would leave a space at the end.
                NodeKind::Scalar(..) if node.span.is_empty() => Some(Cow::Borrowed("null")),
                NodeKind::Scalar(text, style) => match flow_scalar(self.source.slice(node.span), text, style)
                {
                    EmitNode::Line(line) => Some(line),
                    _ => None,
                },
                _ => None,
            }
        };
        match self.tree.node(id).kind {
            NodeKind::Sequence(items) => {
                let items: Option<Vec<_>> = items.iter().map(|item| scalar(*item)).collect();
                Some(format!("[{}]", items?.join(", ")))
            }
            NodeKind::Mapping(entries) => {
                let mut pairs = Vec::with_capacity(entries.len());
                for entry in entries {
                    let pair = format!("{}: {}", self.key(*entry, shape), scalar(entry.value)?);
                    pairs.push((self.tree.key(*entry), pair));
                }
                Some(format!("{{{}}}", shape.sort(pairs).join(", ")))
            }
            _ => None,
        }
    }

    fn block(&mut self, text: &'t str, slot: Slot) -> Result<(EmitNode<'t>, Option<&'t str>), FormatError> {
        let header = self.skip(self.at);
        self.no_comment_before(header)?;
        let rest = &self.text[header..];
        let indicator = rest.chars().next().filter(|c| matches!(c, '|' | '>'));
        let Some(indicator) = indicator else {
            return Err(FormatError::Unsound { check: "a block scalar has no header" });
        };
        let modifiers = rest[1..].len()
            - rest[1..].trim_start_matches(|c: char| c.is_ascii_digit() || "+-".contains(c)).len();
        let digit = rest[1..=modifiers].chars().find_map(|c| c.to_digit(10));
        self.at = header + 1 + modifiers;
        let beside = self.beside(false);
        let body = self.text[self.at..].find('\n').map_or(self.text.len(), |line| self.at + line + 1);
        let explicit = digit.map(|digit| slot.column + digit as usize);
        let block = block_scalar(indicator, slot.column, explicit, &self.text[body..], text);
        let content: usize =
            self.text[body..].split_inclusive('\n').take(block.content_lines).map(str::len).sum();
        self.content_until = body + content;
        self.at = body + block.length;
        Ok((block.node, beside))
    }

    /// A key as it is to be written: fields of the format without quotes, others as they were.
    fn key(&self, entry: Entry, shape: &Shape) -> Cow<'t, str> {
        let node = self.tree.node(entry.key);
        let NodeKind::Scalar(text, style) = node.kind else { return Cow::Borrowed("") };
        if node.span.is_empty() || (shape.is_object() && is_plain(text)) {
            return Cow::Borrowed(text);
        }
        match style {
            Style::Literal | Style::Folded => Cow::Owned(double_quoted(text)),
            _ => match flow_scalar(self.source.slice(node.span), text, style) {
                EmitNode::Line(line) => line,
                _ => Cow::Owned(double_quoted(text)),
            },
        }
    }

    /// Where an entry begins: at its key, or at the `?` before it.
    fn key_start(&self, key: usize) -> usize {
        let mark = self.text[..key].trim_end_matches([' ', '\t', '\n']).len();
        match self.text[..mark].strip_suffix('?') {
            Some(before) if before.len() >= self.at && mark < key => before.len(),
            _ => key,
        }
    }

    /// Goes behind the colon. A mapping in flow style may have keys without one.
    fn colon(&mut self) -> Result<(), FormatError> {
        let colon = self.skip(self.at);
        if self.text[colon..].starts_with(':') {
            self.no_comment_before(colon)?;
            self.at = colon + 1;
        }
        Ok(())
    }

    /// The first byte that is not a space, no line feed, no comma of a flow collection and no comment.
    fn skip(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            at += self.text[at..].len() - self.text[at..].trim_start_matches([' ', '\t', '\n']).len();
            if !self.text[at..].starts_with('#') {
                return at;
            }
            at = self.text[at..].find('\n').map_or(self.text.len(), |line| at + line);
        }
    }

    /// The comment that follows on the same line, if that is the next thing there.
    fn beside(&mut self, in_flow: bool) -> Option<&'t str> {
        let comment = *self.comments.get(self.next)?;
        let between = self.text.get(self.at..comment.span.start)?;
        let between = between.trim_start_matches([' ', '\t']);
        let between = if in_flow { between.strip_prefix(',').unwrap_or(between) } else { between };
        if !between.bytes().all(|byte| matches!(byte, b' ' | b'\t')) || comment.column.is_some() {
            return None;
        }
        self.next += 1;
        Some(comment.text)
    }

    /// The comments and blank lines above what stands at `start`.
    fn above(&mut self, start: usize) -> Result<Vec<Row<'t>>, FormatError> {
        let mut rows = self.foot(0, start);
        self.no_comment_before(start)?;
        self.blank_before(start, &mut rows);
        Ok(rows)
    }

    /// Adds a blank line if the line of `start` has one above it that is not content.
    fn blank_before(&self, start: usize, rows: &mut Vec<Row<'t>>) {
        let line = self.source.line_start(start);
        let first_on_line = self.text[line..start].trim_start_matches([' ', '\t']).is_empty();
        let Some(above) = self.text[..line].strip_suffix('\n') else { return };
        let begin = self.source.line_start(above.len());
        let blank = above[begin..].trim_matches([' ', '\t']).is_empty();
        if first_on_line && blank && begin >= self.content_until {
            rows.push(Row::Blank);
        }
    }

    /// The comments below the last item that are about the collection, whose items stand in `column`.
    fn close(&mut self, place: Place, column: Option<usize>) -> Vec<Row<'t>> {
        match (place.flow_end, place.around, column) {
            (Some(end), ..) => self.foot(0, end),
            // A list may stand in the column of its key; then the comments in that column are not about the list.
            (None, Some(around), Some(column)) if column > around && self.next_is_indented(column) => {
                self.foot(column, self.skip(self.at))
            }
            // What is left at the margin is about the file; see `document`.
            _ => Vec::new(),
        }
    }

    /// Whether the next comment could be about a collection in `column`. Asked first, since it costs nothing.
    fn next_is_indented(&self, column: usize) -> bool {
        self.comments.get(self.next).is_some_and(|comment| comment.column.is_some_and(|own| own >= column))
    }

    /// Comments on lines of their own before `until`, as long as they are indented by `column` at least.
    fn foot(&mut self, column: usize, until: usize) -> Vec<Row<'t>> {
        let mut rows = Vec::new();
        while let Some(comment) = self.comments.get(self.next).copied()
            && comment.span.start < until
            && comment.column.is_some_and(|own| own >= column)
        {
            self.next += 1;
            self.blank_before(comment.span.start, &mut rows);
            rows.push(Row::Comment(comment.text));
        }
        rows
    }

    fn no_comment_before(&self, until: usize) -> Result<(), FormatError> {
        match self.comments.get(self.next) {
            Some(comment) if comment.span.start < until => Err(self.refuse(comment)),
            _ => Ok(()),
        }
    }

    fn refuse_next(&self) -> FormatError {
        match self.comments.get(self.next) {
            Some(comment) => self.refuse(comment),
            None => FormatError::Unsound { check: "an empty collection is not a line" },
        }
    }

    fn refuse(&self, comment: &Comment<'_>) -> FormatError {
        let at = self.source.line_column(comment.span.start);
        FormatError::Comment { line: at.line, column: at.column, text: comment.text.to_owned() }
    }
}

/// A block does not begin with a blank line.
fn settle(collection: &mut Collection<'_>) {
    if let Some(first) = collection.items.first_mut()
        && first.above.first() == Some(&Row::Blank)
    {
        first.above.remove(0);
    }
}

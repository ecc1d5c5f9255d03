//! From parser events to a [`Tree`].

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, StructureStyle};

use super::tree::{Entry, NodeId, Stored, StoredNode, Style, Text, Tree};
use super::{MAX_DOCUMENT_BYTES, MAX_NESTING, MAX_NODES};
use crate::diagnostic::{Diagnostic, Edit, Findings, ParseErrorKind};
use crate::node_path::NodePath;
use crate::source::{Source, Span};

/// Mappings up to this size are searched, larger ones indexed, for duplicate keys.
const SEARCH_UP_TO: usize = 12;

impl Tree {
    /// Parses one YAML document.
    ///
    /// The tree is `None` when the text has no structure to go on with (a syntax error, an empty text);
    /// otherwise the findings are those that leave the structure standing.
    pub fn parse(text: &str) -> (Option<Tree>, Vec<Diagnostic>) {
        if text.len() > MAX_DOCUMENT_BYTES {
            let message =
                format!("the document is {} bytes long; {MAX_DOCUMENT_BYTES} are the limit", text.len());
            let finding = Diagnostic::parse(ParseErrorKind::Syntax, "P-011", message)
                .at(Span::new(0, 0))
                .help("large payloads belong into a resource that the document generates or names");
            return (None, vec![finding]);
        }
        Builder::new(text).run()
    }
}

enum Frame {
    Sequence { items: Vec<NodeId>, span: Span, flow: bool },
    Mapping { entries: Vec<Entry>, key: Option<NodeId>, span: Span, flow: bool },
}

struct Builder<'t> {
    text: &'t str,
    nodes: Vec<StoredNode>,
    frames: Vec<Frame>,
    root: Option<NodeId>,
    findings: Findings,
}

fn syntax(code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::parse(ParseErrorKind::Syntax, code, message)
}

fn too_deep() -> Diagnostic {
    syntax("P-011", format!("collections are nested more than {MAX_NESTING} deep"))
        .help("no protocol needs that, and JSON readers stop at 128")
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            nodes: Vec::with_capacity(text.len() / 16),
            frames: Vec::new(),
            root: None,
            findings: Findings::default(),
        }
    }

    fn run(mut self) -> (Option<Tree>, Vec<Diagnostic>) {
        let options = granit_parser::options! {
            strict_indentation: true,
            emit_anchor_events: true,
            emit_unresolved_aliases: true,
            emit_comments: false,
            flow_nesting_limit: MAX_NESTING,
            block_nesting_limit: MAX_NESTING,
        };
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(self.text, options) {
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    let finding = self.scan_error(&error);
                    self.findings.push(finding);
                    return (None, self.findings.finish());
                }
            };
            if matches!(event, Event::DocumentStart(..)) {
                documents += 1;
                if documents > 1 {
                    let at = offset(&span.start, self.text);
                    let finding = syntax("P-004", "a second YAML document starts here")
                        .at(Span::new(at, (at + 3).min(self.text.len())))
                        .help(
                            "an OATF file holds exactly one document; give the other one a file of its own",
                        );
                    self.findings.push(finding);
                    break;
                }
            }
            if self.nodes.len() > MAX_NODES {
                let at = offset(&span.start, self.text);
                self.findings.push(
                    syntax("P-011", format!("the document has more than {MAX_NODES} keys and values"))
                        .at(Span::new(at, at))
                        .help("no attack needs as many: split the document"),
                );
                return (None, self.findings.finish());
            }
            self.event(event, span);
            // The parser counts block and flow collections apart, so its own limits let twice as much through.
            if self.frames.len() > MAX_NESTING {
                let at = offset(&span.start, self.text);
                self.findings.push(too_deep().at(Span::new(at, at)));
                return (None, self.findings.finish());
            }
        }
        let Some(root) = self.root else {
            if self.findings.is_empty() {
                self.findings.push(
                    syntax("P-003", "the document is empty")
                        .at(Span::new(0, 0))
                        .help("`sortie new` writes a document to start from"),
                );
            }
            return (None, self.findings.finish());
        };
        let tree = Tree { source: Source::new(self.text), nodes: self.nodes, root };
        (Some(tree), self.findings.finish())
    }

    fn event(&mut self, event: Event<'t>, at: granit_parser::Span) {
        let span = Span::new(offset(&at.start, self.text), offset(&at.end, self.text));
        if let Some(tag) = event.tag() {
            let written = tag.original();
            let start = at.tag_start.map_or(span.start, |start| offset(&start, self.text));
            // Nobody knows what the value would have been, so nothing more is said about it.
            let path = self.path(&self.frames);
            self.refuse(
                Span::new(start, start + written.len()),
                Some(path),
                format!("the tag `{written}` is not allowed"),
                "a document is plain data: remove the tag",
            );
        }
        match event {
            Event::Scalar(text, style, ..) => {
                let stored = Stored::Scalar { text: self.keep(text), style: style_of(style) };
                let span = trim_block(self.text, span, style);
                self.add(StoredNode { span, stored });
            }
            Event::SequenceStart(style, ..) => {
                let flow = style == StructureStyle::Flow;
                self.frames.push(Frame::Sequence { items: Vec::new(), span, flow });
            }
            Event::MappingStart(style, ..) => {
                let flow = style == StructureStyle::Flow;
                self.frames.push(Frame::Mapping { entries: Vec::new(), key: None, span, flow });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let path = self.path(&self.frames);
                self.refuse(
                    span,
                    Some(path),
                    format!("the alias `{}` is not allowed", &self.text[span.range()]),
                    "write the value out here: a document must read the same to every parser",
                );
                self.add(StoredNode { span, stored: Stored::Refused });
            }
            // What is anchored can be read all the same, so the finding claims no path.
            Event::Anchor(_, name) => self.refuse(
                span,
                None,
                format!("the anchor `&{name}` is not allowed"),
                "remove the anchor, and write the value out where it is needed again",
            ),
            _ => {}
        }
    }

    fn refuse(&mut self, span: Span, path: Option<NodePath>, message: String, help: &str) {
        let mut finding = syntax("V-020", message).at(span).label("not part of OATF").help(help);
        finding.path = path;
        self.findings.push(finding);
    }

    /// The path of what is read next inside these frames.
    fn path(&self, frames: &[Frame]) -> NodePath {
        frames.iter().fold(NodePath::root(), |path, frame| match frame {
            Frame::Sequence { items, .. } => path.index(items.len()),
            Frame::Mapping { key: Some(key), .. } => path.key(self.text_of(*key).unwrap_or_default()),
            Frame::Mapping { key: None, .. } => path,
        })
    }

    fn text_of(&self, id: NodeId) -> Option<&str> {
        match &self.nodes[id.0 as usize].stored {
            Stored::Scalar { text: Text::Slice(span), .. } => Some(&self.text[span.range()]),
            Stored::Scalar { text: Text::Owned(text), .. } => Some(text),
            _ => None,
        }
    }

    /// Remembers text as a slice of the source where it is one.
    fn keep(&self, text: Cow<'t, str>) -> Text {
        match text {
            Cow::Borrowed(text) => {
                // A borrowed scalar is a slice of the input, so its address tells where it stands.
                let start = (text.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
                let span = Span::new(start, start.saturating_add(text.len()));
                match self.text.get(span.range()) {
                    Some(_) => Text::Slice(span),
                    // An empty value (`key:`) comes as a static `~`, which lies elsewhere.
                    None => Text::Owned(text.into()),
                }
            }
            Cow::Owned(text) => Text::Owned(text.into()),
        }
    }

    fn close(&mut self, end: Span) {
        let Some(frame) = self.frames.pop() else { return };
        let (span, flow, last, stored) = match frame {
            Frame::Sequence { items, span, flow } => {
                (span, flow, items.last().copied(), Stored::Sequence { items: items.into(), flow })
            }
            Frame::Mapping { entries, span, flow, .. } => {
                self.report_duplicates(&entries);
                let last = entries.last().map(|last| last.value);
                (span, flow, last, Stored::Mapping { entries: entries.into(), flow })
            }
        };
        let last = last.map(|last| self.nodes[last.0 as usize].span.end);
        self.add(StoredNode { span: collection_span(span, last, flow, end), stored });
    }

    /// Adds a finished node to the collection it stands in.
    fn add(&mut self, node: StoredNode) {
        #[expect(clippy::cast_possible_truncation, reason = "`MAX_NODES` is far below `u32::MAX`")]
        let id = NodeId(self.nodes.len() as u32);
        let pending = match self.frames.last_mut() {
            None => {
                self.root = Some(id);
                None
            }
            Some(Frame::Sequence { items, .. }) => {
                items.push(id);
                None
            }
            Some(Frame::Mapping { entries, key, .. }) => {
                if let Some(key) = key.take() {
                    entries.push(Entry { key, value: id });
                    None
                } else {
                    *key = Some(id);
                    Some(&node)
                }
            }
        };
        if let Some(key) = pending
            && let Some(finding) = self.check_key(key)
        {
            self.findings.push(finding);
        }
        self.nodes.push(node);
    }

    fn check_key(&self, key: &StoredNode) -> Option<Diagnostic> {
        let slice = &self.text[key.span.range()];
        // The mapping that has this key, which is the last frame.
        let mapping = || self.path(self.frames.split_last().map_or(&[], |(_, outer)| outer));
        match &key.stored {
            Stored::Scalar { style: Style::Plain, .. } if slice == "<<" => Some(
                syntax("V-020", "merge keys are not allowed")
                    .at(key.span)
                    .path(mapping())
                    .label("not part of OATF")
                    .help("write the merged fields out here"),
            ),
            Stored::Mapping { flow: true, .. } if self.text[..key.span.start].ends_with('{') => {
                let start = key.span.start - 1;
                let end =
                    self.text[key.span.end..].find('}').map_or(key.span.end, |at| key.span.end + at + 1);
                let finding = syntax("P-012", "a template reference must be quoted")
                    .at(Span::new(start, end))
                    .path(mapping())
                    .label("YAML reads this as two nested mappings")
                    .help("put the whole value in double quotes");
                let reference = &self.text[start..end];
                let is_plain = !reference.contains(['"', '\\', '\n']);
                let ends_line = self.text[end..].lines().next().is_none_or(|rest| rest.trim().is_empty());
                Some(if is_plain && ends_line {
                    let edit = Edit { span: Span::new(start, end), replacement: format!("\"{reference}\"") };
                    finding.fix("quote the value", vec![edit])
                } else {
                    finding
                })
            }
            Stored::Scalar { .. } => None,
            _ => Some(
                syntax("P-007", "a key must be a string")
                    .at(key.span)
                    .path(mapping())
                    .label("not a string")
                    .help("OATF documents are JSON-shaped: keys are strings"),
            ),
        }
    }

    fn report_duplicates(&mut self, entries: &[Entry]) {
        let span = |id: NodeId| self.nodes[id.0 as usize].span;
        let text = |id: NodeId| self.text_of(id);
        let mut duplicates = Vec::new();
        if entries.len() <= SEARCH_UP_TO {
            for (position, entry) in entries.iter().enumerate() {
                let key = text(entry.key);
                let earlier = entries[..position].iter().find(|earlier| text(earlier.key) == key);
                if let (Some(key), Some(first)) = (key, earlier) {
                    duplicates.push((key.to_owned(), span(entry.key), span(first.key)));
                }
            }
        } else {
            let mut seen = HashMap::with_capacity(entries.len());
            for entry in entries {
                let Some(key) = text(entry.key) else { continue };
                match seen.entry(key) {
                    std::collections::hash_map::Entry::Occupied(first) => {
                        duplicates.push((key.to_owned(), span(entry.key), *first.get()));
                    }
                    std::collections::hash_map::Entry::Vacant(vacant) => {
                        vacant.insert(span(entry.key));
                    }
                }
            }
        }
        for (key, second, first) in duplicates {
            self.findings.push(
                syntax("P-006", format!("the key `{key}` is given twice"))
                    .at(second)
                    .label("second use")
                    .also(first, "first used here")
                    .help("keep one of the two: readers disagree about which would count"),
            );
        }
    }

    fn scan_error(&self, error: &ScanError) -> Diagnostic {
        use granit_parser::ErrorKind;
        let at = offset(error.marker(), self.text);
        let end = self.text[at..]
            .chars()
            .next()
            .map_or(at, |next| if next == '\n' { at } else { at + next.len_utf8() });
        let span = Span::new(at, end);
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => too_deep().at(span),
            kind => {
                let finding = syntax("P-001", format!("this is not valid YAML: {kind}")).at(span);
                let rest = &self.text[at..];
                if rest.starts_with(": ") {
                    finding.help("a text with `: ` in it must be quoted")
                } else if rest.starts_with([']', '}']) {
                    finding.help("indent the closing bracket further than the key it belongs to")
                } else {
                    finding.help("mend this first: what follows it could not be read")
                }
            }
        }
    }
}

/// Byte offset of a marker. The parser reads a `str`, so it always knows one.
fn offset(marker: &granit_parser::Marker, text: &str) -> usize {
    let mut offset = marker.byte_offset().unwrap_or(0).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn collection_span(start: Span, last: Option<usize>, flow: bool, end: Span) -> Span {
    let end = if flow { end.end } else { last.unwrap_or(start.end) };
    Span::new(start.start, end.max(start.start))
}

/// Block scalars end where their text does, not at the next key.
fn trim_block(text: &str, span: Span, style: ScalarStyle) -> Span {
    match style {
        ScalarStyle::Literal | ScalarStyle::Folded => {
            let kept = text[span.range()].trim_end().len();
            Span::new(span.start, span.start + kept)
        }
        _ => span,
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

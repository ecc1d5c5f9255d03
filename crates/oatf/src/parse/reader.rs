//! Reads typed values from tree nodes, and reports what does not fit.

use std::str::FromStr;

use serde_json::{Map, Number, Value};

use crate::diagnostic::{Diagnostic, Edit, ParseErrorKind};
use crate::model::{ExactNumbers, Extensions};
use crate::node_path::{NodePath, Segment};
use crate::source::Span;
use crate::suggest::nearest;
use crate::yaml::{Entry, Node, NodeId, NodeKind, Scalar, Style, Tree};

#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

/// A walk over a tree that knows where it is and collects findings.
pub(crate) struct Reader<'t> {
    pub(super) tree: &'t Tree,
    path: Vec<Step<'t>>,
    findings: Vec<Diagnostic>,
}

/// What a key of a mapping turned out to be.
pub(super) enum Field {
    /// A field of the format, or one that was meant to be.
    Known(&'static str),
    /// An `x-` field.
    Extension,
    /// Reported; nothing can be made of it.
    Unknown,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Self {
        Self { tree, path: Vec::new(), findings: Vec::new() }
    }

    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        self.findings
    }

    pub(super) fn path(&self) -> NodePath {
        let segments = self.path.iter().map(|step| match step {
            Step::Key(key) => Segment::Key((*key).to_owned()),
            Step::Index(index) => Segment::Index(*index),
        });
        segments.collect::<Vec<_>>().into()
    }

    /// Reads below a key.
    pub(super) fn under<R>(&mut self, entry: Entry, read: impl FnOnce(&mut Self, Node<'t>) -> R) -> R {
        self.path.push(Step::Key(self.tree.key(entry)));
        let result = read(self, self.tree.node(entry.value));
        self.path.pop();
        result
    }

    /// Reads an item of a list.
    pub(super) fn item<R>(
        &mut self,
        index: usize,
        id: NodeId,
        read: impl FnOnce(&mut Self, Node<'t>) -> R,
    ) -> R {
        self.path.push(Step::Index(index));
        let result = read(self, self.tree.node(id));
        self.path.pop();
        result
    }

    pub(super) fn report(&mut self, finding: Diagnostic) {
        let finding = if finding.path.is_some() { finding } else { finding.path(self.path()) };
        self.findings.push(finding);
    }

    /// What to underline for a node that stands at the current path.
    pub(super) fn headline(&self, node: Node<'t>) -> Span {
        match self.path.last() {
            Some(Step::Key(_)) => self.tree.span_of(&self.path()),
            _ => self.tree.headline(node.id, None),
        }
    }

    pub(super) fn mismatch(&mut self, node: Node<'t>, expected: &str) {
        self.mismatch_with(node, expected, |finding| finding);
    }

    fn mismatch_with(&mut self, node: Node<'t>, expected: &str, more: impl FnOnce(Diagnostic) -> Diagnostic) {
        // An alias was reported where it stands.
        if matches!(node.kind, NodeKind::Refused) {
            return;
        }
        let found = describe(node);
        let message = match self.path.last() {
            Some(Step::Key(key)) => format!("`{key}` must be {expected}, not {found}"),
            Some(Step::Index(_)) => format!("this item must be {expected}, not {found}"),
            None => format!("the document must be {expected}, not {found}"),
        };
        let finding = Diagnostic::parse(ParseErrorKind::TypeMismatch, "P-009", message)
            .at(self.headline(node))
            .label(format!("expected {expected}"));
        self.report(more(finding));
    }

    /// The entries of a mapping.
    pub(super) fn mapping(&mut self, node: Node<'t>, what: &str) -> Option<&'t [Entry]> {
        match node.kind {
            NodeKind::Mapping(entries) => Some(entries),
            _ => {
                self.mismatch(node, what);
                None
            }
        }
    }

    /// A list, each item of which `read` reads. `None` when the field is left empty (`key:`).
    pub(super) fn list<T>(
        &mut self,
        node: Node<'t>,
        what: &str,
        mut read: impl FnMut(&mut Self, Node<'t>) -> Option<T>,
    ) -> Option<Vec<T>> {
        match node.kind {
            NodeKind::Sequence(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, id) in items.iter().enumerate() {
                    list.extend(self.item(index, *id, &mut read));
                }
                Some(list)
            }
            _ if is_null(node) => None,
            _ => {
                self.mismatch(node, what);
                None
            }
        }
    }

    /// Decides what a key is, and reports one that is nothing. A misspelt key counts as the field it
    /// resembles, unless that is given as well.
    pub(super) fn field(
        &mut self,
        entries: &[Entry],
        entry: Entry,
        object: &str,
        fields: &'static [&'static str],
        extensible: bool,
    ) -> Field {
        let key = self.tree.key(entry);
        if let Some(known) = fields.iter().find(|field| **field == key) {
            return Field::Known(known);
        }
        if extensible && key.starts_with("x-") {
            return Field::Extension;
        }
        let key_node = self.tree.node(entry.key);
        if !matches!(key_node.kind, NodeKind::Scalar(..)) || key == "<<" {
            return Field::Unknown; // reported when the tree was built
        }
        let taken = |field: &str| entries.iter().any(|other| self.tree.key(*other) == field);
        let suggestion = nearest(key, fields.iter().copied().filter(|field| !taken(field)));
        let mut finding = Diagnostic::parse(
            ParseErrorKind::TypeMismatch,
            "P-008",
            format!("unknown field `{key}` in {object}"),
        )
        .at(key_node.span);
        let meant = suggestion.and_then(|name| fields.iter().find(|field| **field == name));
        if let Some(meant) = meant {
            finding = finding.label(format!("did you mean `{meant}`?")).fix(
                format!("rename the field to `{meant}`"),
                vec![Edit { span: key_node.span, replacement: (*meant).to_owned() }],
            );
        } else if key.starts_with("x-") {
            finding = finding.label("no `x-` fields here").help(
                "`x-` fields are kept on the attack, its execution, actors, phases, indicators and actions",
            );
        } else {
            finding = finding.help(format!("{object} has the fields {}", listed(fields)));
            if extensible {
                finding = finding.help("fields of your own start with `x-`");
            }
        }
        let mut path = self.path();
        path = path.key(key);
        self.report(finding.path(path));
        meant.map_or(Field::Unknown, |meant| Field::Known(meant))
    }

    /// Reports a required field that is not there, or left empty. `rule` is the code of the rule that wants
    /// it.
    pub(super) fn missing(
        &mut self,
        node: Node<'t>,
        rule: &'static str,
        object: &str,
        field: &str,
        help: &str,
    ) {
        let path = self.path().key(field);
        let (span, label) = match self.tree.entry(node.id, field) {
            Some(entry) => (self.tree.node(entry.key).span, "left empty".to_owned()),
            None => (self.headline(node), format!("no `{field}` here")),
        };
        let finding =
            Diagnostic::parse(ParseErrorKind::TypeMismatch, rule, format!("{object} needs `{field}`"))
                .at(span)
                .label(label)
                .path(path)
                .help(help);
        self.report(finding);
    }

    /// Whether a field is there and has no value (`key:`), which is as good as no field.
    pub(super) fn is_left_empty(&self, entry: Entry) -> bool {
        is_null(self.tree.node(entry.value))
    }

    /// A string. A number or boolean in its place is reported and read as it is written.
    pub(super) fn string(&mut self, node: Node<'t>) -> Option<String> {
        if is_null(node) {
            return None;
        }
        match node.kind {
            NodeKind::Scalar(text, style) => {
                let resolved = resolve(text, style);
                if !matches!(resolved, Scalar::String(_)) {
                    self.mismatch_with(node, "a string", |finding| {
                        finding.help("put it in quotes").fix(
                            "quote the value",
                            vec![Edit { span: node.span, replacement: format!("\"{text}\"") }],
                        )
                    });
                }
                Some(text.to_owned())
            }
            _ => {
                self.mismatch(node, "a string");
                None
            }
        }
    }

    /// A list of strings.
    pub(super) fn strings(&mut self, node: Node<'t>) -> Option<Vec<String>> {
        self.list(node, "a list of strings", |reader, item| {
            if is_null(item) {
                reader.mismatch(item, "a string");
            }
            reader.string(item)
        })
    }

    pub(super) fn integer(&mut self, node: Node<'t>) -> Option<i64> {
        match scalar(node) {
            Some(Scalar::Null) => None,
            Some(Scalar::Number { value, .. }) if value.is_i64() => value.as_i64(),
            _ => {
                self.mismatch(node, "an integer");
                None
            }
        }
    }

    pub(super) fn number(&mut self, node: Node<'t>) -> Option<Number> {
        match scalar(node) {
            Some(Scalar::Null) => None,
            Some(Scalar::Number { value, .. }) => Some(value),
            _ => {
                self.mismatch(node, "a number");
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, node: Node<'t>) -> Option<bool> {
        match scalar(node) {
            Some(Scalar::Null) => None,
            Some(Scalar::Bool(value)) => Some(value),
            _ => {
                self.mismatch(node, "true or false");
                None
            }
        }
    }

    /// A member of a closed enumeration; `rule` is the rule that closes it.
    pub(super) fn variant<T: FromStr>(
        &mut self,
        node: Node<'t>,
        rule: &'static str,
        what: &str,
        words: &'static [&'static str],
    ) -> Option<T> {
        if is_null(node) {
            return None;
        }
        let NodeKind::Scalar(text, _) = node.kind else {
            self.mismatch(node, &format!("one of {}", listed(words)));
            return None;
        };
        if let Ok(value) = text.parse() {
            return Some(value);
        }
        let mut finding =
            Diagnostic::parse(ParseErrorKind::UnknownVariant, rule, format!("`{text}` is not {what}"))
                .at(self.headline(node))
                .help(format!("it is one of {}", listed(words)));
        if let Some(meant) = nearest(text, words.iter().copied()) {
            finding = finding.label(format!("did you mean `{meant}`?")).fix(
                format!("write `{meant}`"),
                vec![Edit { span: node.span, replacement: meant.to_owned() }],
            );
        }
        self.report(finding);
        None
    }

    /// Any value, as JSON.
    pub(super) fn value(&mut self, node: Node<'t>) -> Value {
        let mut numbers = ExactNumbers::default();
        self.value_at(node, self.path.len(), &mut numbers)
    }

    /// Any value as JSON, and the numbers in it that JSON would print differently.
    pub(super) fn value_and_numbers(&mut self, node: Node<'t>) -> (Value, ExactNumbers) {
        let mut numbers = ExactNumbers::default();
        let value = self.value_at(node, self.path.len(), &mut numbers);
        (value, numbers)
    }

    // Recursion is bounded: the tree is at most `MAX_NESTING` deep.
    fn value_at(&mut self, node: Node<'t>, base: usize, numbers: &mut ExactNumbers) -> Value {
        match node.kind {
            NodeKind::Scalar(text, style) => {
                let resolved = resolve(text, style);
                match resolved {
                    Scalar::Number { inexact: true, .. } => {
                        numbers.0.insert(self.pointer(base), text.to_owned());
                    }
                    Scalar::NotFinite => {
                        self.mismatch_with(node, "a value that JSON can say", |finding| {
                            finding.help("quote it to send the text")
                        });
                    }
                    _ => {}
                }
                resolved.to_value(text)
            }
            NodeKind::Sequence(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, id) in items.iter().enumerate() {
                    list.push(self.item(index, *id, |reader, item| reader.value_at(item, base, numbers)));
                }
                Value::Array(list)
            }
            NodeKind::Mapping(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for entry in entries {
                    let value = self.under(*entry, |reader, node| reader.value_at(node, base, numbers));
                    map.insert(self.tree.key(*entry).to_owned(), value);
                }
                Value::Object(map)
            }
            NodeKind::Refused => Value::Null,
        }
    }

    fn pointer(&self, base: usize) -> String {
        let mut pointer = String::new();
        for step in &self.path[base..] {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// Keeps an `x-` field, remembering the field of the format it follows.
    pub(super) fn extension(&mut self, entry: Entry, after: Option<&str>, into: &mut Extensions) {
        let value = self.under(entry, Self::value);
        into.push(self.tree.key(entry), value, after);
    }
}

pub(super) fn resolve(text: &str, style: Style) -> Scalar<'_> {
    match style {
        Style::Plain => Scalar::resolve(text),
        _ => Scalar::String(text),
    }
}

fn scalar(node: Node<'_>) -> Option<Scalar<'_>> {
    match node.kind {
        NodeKind::Scalar(text, style) => Some(resolve(text, style)),
        _ => None,
    }
}

pub(super) fn is_null(node: Node<'_>) -> bool {
    matches!(scalar(node), Some(Scalar::Null))
}

fn describe(node: Node<'_>) -> &'static str {
    match node.kind {
        NodeKind::Sequence(_) => "a list",
        NodeKind::Mapping(_) => "a mapping",
        NodeKind::Refused => "an alias",
        NodeKind::Scalar(text, style) => match resolve(text, style) {
            Scalar::Null => "nothing",
            Scalar::Bool(_) => "a boolean",
            Scalar::Number { .. } => "a number",
            Scalar::NotFinite => "infinity or no number",
            Scalar::String(_) => "a string",
        },
    }
}

/// Words as a sentence lists them: `a`, `b` and `c`.
pub(crate) fn listed(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}

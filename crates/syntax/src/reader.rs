//! Reads typed values from tree nodes, and reports what does not fit.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::{Map, Number, Value};

use crate::diagnostic::{Diagnostic, DiagnosticSeverity, Edit, Findings, ParseErrorKind};
use crate::node_path::{NodePath, Segment};
use crate::source::Span;
use crate::suggest::nearest;
use crate::yaml::{Entry, Node, NodeId, NodeKind, Scalar, Style, Tree};

#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

/// Numbers of a pass-through value that JSON can say and [`serde_json::Number`] cannot (`1.10`, an
/// integer of thirty digits), by JSON pointer from the root of that value, as they were written.
///
/// Whoever puts the value on a wire writes these literals instead of the numbers in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactNumbers(pub BTreeMap<String, String>);

impl ExactNumbers {
    /// The literal at a JSON pointer.
    pub fn get(&self, pointer: &str) -> Option<&str> {
        self.0.get(pointer).map(String::as_str)
    }

    /// Whether every number prints as it was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A walk over a tree that knows where it is and collects findings.
///
/// It reads documents, and whatever else is written in the same YAML and wants the same answers to a mistake: an
/// unknown field is underlined and the one that was meant is named, a value of another type is said to be one.
///
/// ```
/// use sortie_syntax::yaml::Tree;
/// use sortie_syntax::{Field, Reader};
///
/// let (tree, _) = Tree::parse("nmae: A list");
/// let tree = tree.unwrap();
/// let mut reader = Reader::new(&tree);
/// let mut name = None;
/// let entries = reader.mapping(tree.root(), "a mapping").unwrap();
/// for entry in entries {
///     if let Field::Known("name") = reader.field(entries, *entry, "a list", &["name"], false) {
///         name = reader.under(*entry, Reader::string);
///     }
/// }
/// assert_eq!(name.as_deref(), Some("A list"));
/// assert_eq!(reader.finish()[0].label.as_deref(), Some("did you mean `name`?"));
/// ```
pub struct Reader<'t> {
    tree: &'t Tree,
    path: Vec<Step<'t>>,
    findings: Findings,
}

/// What a key of a mapping turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A field of the format, or one that was meant to be.
    Known(&'static str),
    /// An `x-` field.
    Extension,
    /// Reported; nothing can be made of it.
    Unknown,
}

impl<'t> Reader<'t> {
    /// A reader that stands at the top.
    pub fn new(tree: &'t Tree) -> Self {
        Self { tree, path: Vec::new(), findings: Findings::default() }
    }

    /// What is being read.
    pub fn tree(&self) -> &'t Tree {
        self.tree
    }

    /// How many errors were found so far.
    pub fn errors(&self) -> usize {
        self.findings.errors()
    }

    /// What was found, in the order of the source.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.findings.finish()
    }

    /// Where the reader stands.
    pub fn path(&self) -> NodePath {
        let segments = self.path.iter().map(|step| match step {
            Step::Key(key) => Segment::Key((*key).to_owned()),
            Step::Index(index) => Segment::Index(*index),
        });
        segments.collect::<Vec<_>>().into()
    }

    /// Reads below a key.
    pub fn under<R>(&mut self, entry: Entry, read: impl FnOnce(&mut Self, Node<'t>) -> R) -> R {
        self.path.push(Step::Key(self.tree.key(entry)));
        let result = read(self, self.tree.node(entry.value));
        self.path.pop();
        result
    }

    /// Reads an item of a list.
    pub fn item<R>(&mut self, index: usize, id: NodeId, read: impl FnOnce(&mut Self, Node<'t>) -> R) -> R {
        self.path.push(Step::Index(index));
        let result = read(self, self.tree.node(id));
        self.path.pop();
        result
    }

    /// Reports an error, which is only described while there is room for it: describing costs more than
    /// finding.
    pub fn report(&mut self, describe: impl FnOnce(&Self) -> Diagnostic) {
        self.report_as(DiagnosticSeverity::Error, describe);
    }

    /// Reports a warning, in the same way.
    pub fn warn(&mut self, describe: impl FnOnce(&Self) -> Diagnostic) {
        self.report_as(DiagnosticSeverity::Warning, describe);
    }

    fn report_as(&mut self, severity: DiagnosticSeverity, describe: impl FnOnce(&Self) -> Diagnostic) {
        if self.findings.has_room(severity) {
            let finding = describe(self);
            let finding = if finding.path.is_some() { finding } else { finding.path(self.path()) };
            self.findings.keep(finding);
        }
    }

    /// What to underline for a node that stands at the current path.
    pub fn headline(&self, node: Node<'t>) -> Span {
        match self.path.last() {
            Some(Step::Key(_)) => self.tree.span_of(&self.path()),
            _ => self.tree.headline(node.id, None),
        }
    }

    /// Reports that a node is not what is expected here, in words that follow "must be".
    pub fn mismatch(&mut self, node: Node<'t>, expected: &str) {
        self.mismatch_with(node, expected, |finding| finding);
    }

    fn mismatch_with(&mut self, node: Node<'t>, expected: &str, more: impl FnOnce(Diagnostic) -> Diagnostic) {
        // An alias, and a mapping that is a bare template, were reported where they stand.
        let is_template = |entry: &Entry| !matches!(self.tree.node(entry.key).kind, NodeKind::Scalar(..));
        match node.kind {
            NodeKind::Refused => return,
            NodeKind::Mapping(entries) if entries.iter().any(is_template) => return,
            _ => {}
        }
        self.report(|reader| {
            let found = describe(node);
            let message = match reader.path.last() {
                Some(Step::Key(key)) => format!("`{key}` must be {expected}, not {found}"),
                Some(Step::Index(_)) => format!("this item must be {expected}, not {found}"),
                None => format!("the document must be {expected}, not {found}"),
            };
            let finding = Diagnostic::parse(ParseErrorKind::TypeMismatch, "P-009", message)
                .at(reader.headline(node))
                .label(format!("expected {expected}"));
            let finding = more(finding);
            if finding.help.is_empty() { finding.help(format!("write {expected} here")) } else { finding }
        });
    }

    /// The entries of a mapping.
    pub fn mapping(&mut self, node: Node<'t>, what: &str) -> Option<&'t [Entry]> {
        if let NodeKind::Mapping(entries) = node.kind {
            Some(entries)
        } else {
            self.mismatch(node, what);
            None
        }
    }

    /// A list, each item of which `read` reads. `None` when the field is left empty (`key:`).
    pub fn list<T>(
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
    pub fn field(
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
        // In a mapping this large nothing is a typo, and looking for the meant field would cost.
        let meant = if entries.len() > 4 * fields.len() + 64 {
            None
        } else {
            let taken = |field: &str| entries.iter().any(|other| self.tree.key(*other) == field);
            nearest(key, fields.iter().copied()).filter(|field| !taken(field))
        };
        let meant = meant.and_then(|name| fields.iter().find(|field| **field == name).copied());
        self.report(|reader| reader.unknown_field(entry, object, fields, extensible, meant));
        meant.map_or(Field::Unknown, Field::Known)
    }

    fn unknown_field(
        &self,
        entry: Entry,
        object: &str,
        fields: &[&str],
        extensible: bool,
        meant: Option<&str>,
    ) -> Diagnostic {
        let key = self.tree.key(entry);
        let span = self.tree.node(entry.key).span;
        let message = format!("unknown field `{key}` in {object}");
        let finding = Diagnostic::parse(ParseErrorKind::TypeMismatch, "P-008", message)
            .at(span)
            .path(self.path().key(key));
        if let Some(meant) = meant {
            let edit = Edit { span, replacement: meant.to_owned() };
            return finding
                .label(format!("did you mean `{meant}`?"))
                .fix(format!("rename the field to `{meant}`"), vec![edit]);
        }
        if key.starts_with("x-") {
            return finding.label("no `x-` fields here").help(
                "only documents keep `x-` fields: on the attack, its execution, actors, phases, indicators and actions",
            );
        }
        let finding = finding.help(format!("{object} has the fields {}", listed(fields)));
        if extensible { finding.help("fields of your own start with `x-`") } else { finding }
    }

    /// Whether the key of a required field has a value: `key:` and nothing is as good as no key.
    pub fn is_given(&self, entry: Entry) -> bool {
        !is_null(self.tree.node(entry.value))
    }

    /// Reports a required field that is not there, or left empty. `rule` is the code of the rule that wants
    /// it.
    pub fn missing(&mut self, node: Node<'t>, rule: &'static str, object: &str, field: &str, help: &str) {
        self.missing_with(node, rule, object, field, |finding| finding.help(help));
    }

    /// Reports a required field that is not there, with more to say about it.
    pub fn missing_with(
        &mut self,
        node: Node<'t>,
        rule: &'static str,
        object: &str,
        field: &str,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        self.report(|reader| {
            let (span, label) = match reader.tree.entry(node.id, field) {
                Some(entry) => (reader.tree.node(entry.key).span, "left empty".to_owned()),
                None => (reader.headline(node), format!("no `{field}` here")),
            };
            let message = format!("{object} needs `{field}`");
            let finding = Diagnostic::parse(ParseErrorKind::TypeMismatch, rule, message)
                .at(span)
                .label(label)
                .path(reader.path().key(field));
            more(finding)
        });
    }

    /// A string. A number or boolean in its place is reported and read as it is written.
    pub fn string(&mut self, node: Node<'t>) -> Option<String> {
        if is_null(node) {
            return None;
        }
        if let NodeKind::Scalar(text, style) = node.kind {
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
        } else {
            self.mismatch(node, "a string");
            None
        }
    }

    /// A list of strings.
    pub fn strings(&mut self, node: Node<'t>) -> Option<Vec<String>> {
        self.list(node, "a list of strings", |reader, item| {
            if is_null(item) {
                reader.mismatch(item, "a string");
            }
            reader.string(item)
        })
    }

    /// An integer.
    pub fn integer(&mut self, node: Node<'t>) -> Option<i64> {
        self.scalar(node, "an integer", |scalar| match scalar {
            Scalar::Number { value, .. } => value.as_i64(),
            _ => None,
        })
    }

    /// A number.
    pub fn number(&mut self, node: Node<'t>) -> Option<Number> {
        self.scalar(node, "a number", |scalar| match scalar {
            Scalar::Number { value, .. } => Some(value),
            _ => None,
        })
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, node: Node<'t>) -> Option<bool> {
        self.scalar(node, "true or false", |scalar| match scalar {
            Scalar::Bool(value) => Some(value),
            _ => None,
        })
    }

    fn scalar<T>(&mut self, node: Node<'t>, what: &str, read: fn(Scalar<'t>) -> Option<T>) -> Option<T> {
        let value = scalar(node).and_then(read);
        if value.is_none() && !is_null(node) {
            self.mismatch(node, what);
        }
        value
    }

    /// A member of a closed enumeration; `rule` is the rule that closes it.
    pub fn variant<T: FromStr>(
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
        self.report(|reader| {
            let message = format!("`{text}` is not {what}");
            let finding = Diagnostic::parse(ParseErrorKind::UnknownVariant, rule, message)
                .at(reader.headline(node))
                .help(format!("it is one of {}", listed(words)));
            match nearest(text, words.iter().copied()) {
                Some(meant) => finding.label(format!("did you mean `{meant}`?")).fix(
                    format!("write `{meant}`"),
                    vec![Edit { span: node.span, replacement: meant.to_owned() }],
                ),
                None => finding,
            }
        });
        None
    }

    /// Any value, as JSON.
    pub fn value(&mut self, node: Node<'t>) -> Value {
        let mut numbers = ExactNumbers::default();
        self.value_at(node, self.path.len(), &mut numbers)
    }

    /// Any value as JSON, and the numbers in it that JSON would print differently.
    pub fn value_and_numbers(&mut self, node: Node<'t>) -> (Value, ExactNumbers) {
        let mut numbers = ExactNumbers::default();
        let value = self.value_at(node, self.path.len(), &mut numbers);
        (value, numbers)
    }

    /// Where the reader is, for [`value_at`](Self::value_at).
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// Any value as JSON; its numbers that JSON would print differently are added, by pointers from what is `base` deep.
    // Recursion is bounded: the tree is at most `MAX_NESTING` deep.
    pub fn value_at(&mut self, node: Node<'t>, base: usize, numbers: &mut ExactNumbers) -> Value {
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
}

fn resolve(text: &str, style: Style) -> Scalar<'_> {
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

/// Whether a node is left empty, or says `null`.
pub fn is_null(node: Node<'_>) -> bool {
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
pub fn listed(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}

//! Writes YAML in block style: one layout for canonical documents and for formatted ones.
//!
//! What is to be written is a tree of [`EmitNode`]s whose texts are ready (quoted, escaped, on one line or cut into
//! lines); what is decided here is where lines begin and how far they are indented. Lines are never wrapped.

use std::borrow::Cow;

use serde_json::Value;

use super::style;

/// Columns per level.
pub const STEP: usize = 2;

/// Longer keys are written in the explicit form (`? key`): readers give up looking for the colon after 1024
/// characters.
const LONGEST_KEY: usize = 1000;

/// What can stand under a key or in a list.
#[derive(Debug)]
pub enum EmitNode<'t> {
    /// One line: a scalar, or a collection in flow style. Empty for a null that is not written.
    Line(Cow<'t, str>),
    /// A quoted or plain scalar that the author cut into lines.
    Lines(Vec<Cow<'t, str>>),
    /// A literal or folded block.
    Block {
        /// `|` or `>` and what follows it.
        header: String,
        /// Its lines, without indentation.
        lines: Vec<Cow<'t, str>>,
    },
    /// A mapping in block style; not empty.
    Mapping(Collection<'t>),
    /// A sequence in block style; not empty.
    Sequence(Collection<'t>),
}

/// The items of a mapping or a sequence.
#[derive(Debug, Default)]
pub struct Collection<'t> {
    /// The items; those of a mapping have keys.
    pub items: Vec<Item<'t>>,
    /// What stands below the last one.
    pub foot: Vec<Row<'t>>,
}

/// A value, its key, and the comments about it.
#[derive(Debug)]
pub struct Item<'t> {
    /// What stands on lines of its own above it.
    pub above: Vec<Row<'t>>,
    /// The key, as it is to be written.
    pub key: Option<Cow<'t, str>>,
    /// The value.
    pub value: EmitNode<'t>,
    /// A comment on its line: that of a scalar, or the one that opens a block.
    pub beside: Option<&'t str>,
}

impl<'t> Item<'t> {
    /// An entry of a mapping.
    pub fn entry(key: Cow<'t, str>, value: EmitNode<'t>) -> Self {
        Self { above: Vec::new(), key: Some(key), value, beside: None }
    }

    /// An item of a sequence.
    pub fn unnamed(value: EmitNode<'t>) -> Self {
        Self { above: Vec::new(), key: None, value, beside: None }
    }
}

/// A line that holds no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row<'t> {
    /// Nothing.
    Blank,
    /// A comment, from its `#`.
    Comment(&'t str),
}

impl<'t> EmitNode<'t> {
    /// A mapping; `{}` when there is nothing in it.
    pub fn mapping(items: Vec<Item<'t>>) -> Self {
        if items.is_empty() {
            return Self::Line(Cow::Borrowed("{}"));
        }
        Self::Mapping(Collection { items, foot: Vec::new() })
    }

    /// A sequence; `[]` when there is nothing in it.
    pub fn sequence(items: impl Iterator<Item = EmitNode<'t>>) -> Self {
        let items: Vec<_> = items.map(Item::unnamed).collect();
        if items.is_empty() {
            return Self::Line(Cow::Borrowed("[]"));
        }
        Self::Sequence(Collection { items, foot: Vec::new() })
    }

    /// Any JSON value.
    // Recursion is bounded as it is for whoever made the value: documents stop at 100 levels, JSON at 128.
    pub fn value(value: &'t Value) -> Self {
        match value {
            Value::Null => Self::Line(Cow::Borrowed("null")),
            Value::Bool(value) => Self::Line(Cow::Borrowed(boolean(*value))),
            Value::Number(number) => Self::Line(Cow::Owned(number.to_string())),
            Value::String(text) => style::string(text),
            Value::Array(items) => Self::sequence(items.iter().map(Self::value)),
            Value::Object(fields) => {
                let items =
                    fields.iter().map(|(key, field)| Item::entry(style::key(key), Self::value(field)));
                Self::mapping(items.collect())
            }
        }
    }

    fn collection(&self) -> Option<&Collection<'t>> {
        match self {
            Self::Mapping(collection) | Self::Sequence(collection) => Some(collection),
            _ => None,
        }
    }
}

/// A boolean as YAML writes it.
pub fn boolean(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}

/// A JSON value as YAML in block style, with a line feed at its end.
///
/// Keys keep their order, lines are never wrapped, and the same value gives the same bytes. What a reader
/// could not see is an escape; what a YAML 1.1 reader would take for something else is quoted. (Such a reader
/// takes one thing for another all the same: a number with an exponent and no point, `1e30`, for a string.)
///
/// ```
/// use serde_json::json;
///
/// let value = json!({"answer": "yes", "hidden": "a\u{200b}b", "list": [1, "two\nlines"], "empty": {}});
/// assert_eq!(sortie_syntax::yaml::emit(&value), r#"answer: "yes"
/// hidden: "a\u200bb"
/// list:
///   - 1
///   - |-
///     two
///     lines
/// empty: {}
/// "#);
/// ```
pub fn emit(value: &Value) -> String {
    let mut text = String::new();
    write(&EmitNode::value(value), &mut text);
    text
}

/// Writes a collection that stands at the left margin, or any other node on a line of its own.
pub fn write(node: &EmitNode<'_>, out: &mut String) {
    let mut writer = Writer { out };
    match node.collection() {
        Some(collection) => writer.collection(collection, 0, false),
        None => writer.scalar(node, None, 0, ""),
    }
}

struct Writer<'o> {
    out: &'o mut String,
}

impl Writer<'_> {
    fn indent(&mut self, columns: usize) {
        self.out.extend(std::iter::repeat_n(' ', columns));
    }

    fn rows(&mut self, rows: &[Row<'_>], column: usize) {
        for row in rows {
            if let Row::Comment(text) = row {
                self.indent(column);
                self.out.push_str(text);
            }
            self.out.push('\n');
        }
    }

    /// `after_dash`: the first item begins on a line that has begun already, and what stands above it is
    /// written.
    fn collection(&mut self, collection: &Collection<'_>, column: usize, after_dash: bool) {
        for (position, item) in collection.items.iter().enumerate() {
            if position > 0 || !after_dash {
                self.above(item, column);
                self.indent(column);
            }
            match &item.key {
                None => self.out.push('-'),
                Some(key) if key.len() > LONGEST_KEY => {
                    self.out.push_str("? ");
                    self.out.push_str(key);
                    self.out.push('\n');
                    self.indent(column);
                    self.out.push(':');
                }
                Some(key) => {
                    self.out.push_str(key);
                    self.out.push(':');
                }
            }
            match item.value.collection() {
                Some(inner) if follows_dash(item) => {
                    self.indent(STEP - 1);
                    self.collection(inner, column + STEP, true);
                }
                Some(inner) => {
                    self.beside(item.beside);
                    self.out.push('\n');
                    self.collection(inner, column + STEP, false);
                }
                None => self.scalar(&item.value, item.beside, column, " "),
            }
        }
        self.rows(&collection.foot, column);
    }

    /// What stands above an item, and above what begins on its line: `- id: a` has one line for two nodes.
    fn above(&mut self, item: &Item<'_>, column: usize) {
        self.rows(&item.above, column);
        if follows_dash(item)
            && let Some(first) = item.value.collection().and_then(|inner| inner.items.first())
        {
            self.above(first, column);
        }
    }

    fn scalar(&mut self, node: &EmitNode<'_>, beside: Option<&str>, column: usize, separator: &str) {
        match node {
            EmitNode::Line(text) => {
                if !text.is_empty() {
                    self.out.push_str(separator);
                    self.out.push_str(text);
                }
                self.beside(beside);
                self.out.push('\n');
            }
            EmitNode::Lines(lines) => {
                for (position, line) in lines.iter().enumerate() {
                    match (position, line.is_empty()) {
                        (0, _) => self.out.push_str(separator),
                        (_, true) => self.out.push('\n'),
                        (_, false) => {
                            self.out.push('\n');
                            self.indent(column + STEP);
                        }
                    }
                    self.out.push_str(line);
                }
                self.beside(beside);
                self.out.push('\n');
            }
            EmitNode::Block { header, lines } => {
                self.out.push_str(separator);
                self.out.push_str(header);
                self.beside(beside);
                self.out.push('\n');
                for line in lines {
                    if !line.is_empty() {
                        self.indent(column + STEP);
                        self.out.push_str(line);
                    }
                    self.out.push('\n');
                }
            }
            EmitNode::Mapping(_) | EmitNode::Sequence(_) => {}
        }
    }

    fn beside(&mut self, comment: Option<&str>) {
        if let Some(comment) = comment {
            self.out.push_str("  ");
            self.out.push_str(comment);
        }
    }
}

/// Whether an item's collection begins on the line of its dash.
fn follows_dash(item: &Item<'_>) -> bool {
    item.key.is_none() && item.beside.is_none()
}

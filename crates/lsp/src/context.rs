//! What is being written at a place of a YAML text, by its lines and their indentation alone.
//!
//! While somebody types, a text is broken most of the time. So completion does not look at the tree: it reads the lines above the
//! place, as a person would.

use sortie_syntax::{NodePath, Segment, Span};

use crate::text::Text;

/// Lines above the place that are looked at.
const MOST_LINES: usize = 5_000;

/// What is being written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Context {
    /// The object whose key is being written, or the path of the value.
    pub(crate) path: NodePath,
    pub(crate) part: Writing,
    /// The keys beside it, with their values where those are on the same line.
    pub(crate) siblings: Vec<(String, String)>,
}

/// Which part of an entry is being written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// A key, as far as it goes.
    Key(Span),
    /// A value. `opened` is the text before the place, from where the value begins.
    Value { span: Span, opened: String },
}

impl Context {
    /// The value of a key beside this one.
    pub(crate) fn sibling(&self, key: &str) -> Option<&str> {
        let found = self.siblings.iter().find(|(sibling, _)| sibling == key)?;
        Some(found.1.as_str()).filter(|value| !value.is_empty())
    }

    /// What is being written at a byte of a text.
    pub(crate) fn at(text: &Text, offset: usize) -> Self {
        let line = text.line_of(offset);
        let start = text.line_start(line);
        let typed = &text.as_str()[start..offset.max(start)];
        let mut outline = Outline::above(text, line);
        if let Some((key, indent)) = outline.open_block(typed) {
            // Inside a block scalar everything is text.
            outline.keep_below(indent);
            let path = outline.path().key(key);
            let blanks = typed.len() - typed.trim_start().len();
            let value =
                Writing::Value { span: Span::new(offset, offset), opened: typed[blanks..].to_owned() };
            return Self { path, part: value, siblings: Vec::new() };
        }
        let written = outline.line(typed);
        let siblings = outline.siblings(text, line);
        let mut open = Open { text: written, path: outline.path(), holder: Holder::Mapping, siblings };
        while open.enter() {}
        let span = word(open.text, offset);
        let part = match open.holder {
            Holder::Mapping => Writing::Key(span),
            Holder::Entry | Holder::List => Writing::Value { span, opened: open.text.to_owned() },
        };
        Self { path: open.path, part, siblings: open.siblings }
    }
}

/// What a piece of text stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Mapping,
    /// Behind the colon of an entry.
    Entry,
    List,
}

/// The end of a line, as far as it is written.
struct Open<'l> {
    text: &'l str,
    path: NodePath,
    holder: Holder,
    siblings: Vec<(String, String)>,
}

impl Open<'_> {
    /// Goes into the value of an entry, or into a collection in flow style that is still open.
    fn enter(&mut self) -> bool {
        let Some(inside) = self.text.strip_prefix(['{', '[']).filter(|_| is_open(self.text)) else {
            if self.holder != Holder::Mapping {
                return false;
            }
            let Some((key, value)) = split_entry(self.text) else { return false };
            self.path.push_key(&key);
            (self.text, self.holder) = (value, Holder::Entry);
            return true;
        };
        let items = split_items(inside);
        if self.text.starts_with('[') {
            self.path.push_index(items.len() - 1);
            self.holder = Holder::List;
        } else {
            let entries = items.iter().filter_map(|item| split_entry(item));
            self.siblings = entries.map(|(key, value)| (key, unquoted(value))).collect();
            self.holder = Holder::Mapping;
        }
        self.text = items.last().copied().unwrap_or_default();
        true
    }
}

/// The word that ends at the place, without the quote that opens it.
fn word(written: &str, offset: usize) -> Span {
    Span::new(offset - written.trim_start_matches(['"', '\'']).len(), offset)
}

/// An open place that the lines above lead to.
#[derive(Debug)]
struct Outline {
    /// Keys and positions, outermost first, with the column they stand at.
    steps: Vec<(usize, Segment)>,
    /// The column at which keys beside the place stand.
    column: usize,
    /// A key above that opened a block scalar, with its column.
    block: Option<(String, usize)>,
}

impl Outline {
    /// What the lines above a line leave open.
    fn above(text: &Text, line: usize) -> Self {
        let mut outline = Self { steps: Vec::new(), column: 0, block: None };
        for at in line.saturating_sub(MOST_LINES)..line {
            let content = text.line(at);
            if outline.is_in_block(content) || is_blank(content) {
                continue;
            }
            outline.block = None;
            let rest = outline.line(content);
            if let Some((key, value)) = split_entry(rest) {
                let column = content.len() - rest.len();
                outline.push(column, Segment::Key(key.clone()));
                if value.starts_with(['|', '>']) {
                    outline.block = Some((key, column));
                }
            }
        }
        outline
    }

    fn is_in_block(&self, content: &str) -> bool {
        let indent = content.len() - content.trim_start().len();
        self.block.as_ref().is_some_and(|(_, column)| indent > *column || content.trim().is_empty())
    }

    /// The block scalar that a line continues, with the column of its key.
    fn open_block(&self, typed: &str) -> Option<(String, usize)> {
        let (key, column) = self.block.clone()?;
        let indent = typed.len() - typed.trim_start().len();
        (indent > column).then_some((key, column))
    }

    fn keep_below(&mut self, column: usize) {
        self.steps.retain(|(at, _)| *at < column);
    }

    fn push(&mut self, column: usize, step: Segment) {
        self.steps.retain(|(at, _)| *at < column);
        self.steps.push((column, step));
    }

    /// Takes the indentation and the dashes of a line, and gives what is behind them.
    fn line<'l>(&mut self, content: &'l str) -> &'l str {
        let mut rest = content.trim_start_matches(' ');
        loop {
            let column = content.len() - rest.len();
            self.column = column;
            let Some(item) = rest.strip_prefix('-').filter(|item| item.is_empty() || item.starts_with(' '))
            else {
                self.steps.retain(|(at, step)| {
                    *at < column || (*at == column && matches!(step, Segment::Index(_)))
                });
                // A key at the column of a dash closes the list.
                if !rest.is_empty() {
                    self.steps.retain(|(at, _)| *at < column);
                }
                return rest;
            };
            // A dash may stand in the column of the key that its list is under.
            let index = self.steps.iter().find_map(|(at, step)| match step {
                Segment::Index(index) if *at == column => Some(index + 1),
                _ => None,
            });
            self.steps
                .retain(|(at, step)| *at < column || (*at == column && matches!(step, Segment::Key(_))));
            self.steps.push((column, Segment::Index(index.unwrap_or(0))));
            rest = item.trim_start_matches(' ');
        }
    }

    fn path(&self) -> NodePath {
        self.steps.iter().map(|(_, step)| step.clone()).collect::<Vec<_>>().into()
    }

    /// The keys of the mapping that the place is in: those in its column, above and below, up to where it ends.
    fn siblings(&self, text: &Text, line: usize) -> Vec<(String, String)> {
        let column = self.column;
        let mut found = Vec::new();
        let mut collect = |at: usize| {
            let content = text.line(at);
            if is_blank(content) {
                return true;
            }
            let indent = content.len() - content.trim_start().len();
            let rest = content.trim_start_matches([' ', '-']);
            let own = content.len() - rest.len();
            if own == column
                && let Some((key, value)) = split_entry(rest)
            {
                found.push((key, unquoted(value)));
            }
            // The dash that begins the item is part of it; what is further left is not.
            indent >= column
        };
        for at in (0..line).rev().take(MOST_LINES) {
            if !collect(at) {
                break;
            }
        }
        for at in (line + 1..text.line_count()).take(MOST_LINES) {
            let content = text.line(at);
            let indent = content.len() - content.trim_start().len();
            if !is_blank(content) && indent < column {
                break;
            }
            collect(at);
        }
        found
    }
}

/// What is being written at a byte of `sortie.toml`: a table's name, a key, or a value.
pub(crate) fn settings_context(text: &Text, offset: usize) -> Context {
    let line = text.line_of(offset);
    let start = text.line_start(line);
    let typed = &text.as_str()[start..offset.max(start)];
    let header =
        |line: &str| Some(line.trim().strip_prefix('[')?.trim_end_matches(']').trim_matches('[').to_owned());
    let path_of = |header: &str| {
        let parts = header.split('.').map(|part| part.trim().trim_matches(['"', '\'']).to_owned());
        parts.fold(NodePath::root(), NodePath::key)
    };
    if let Some(header) = header(typed) {
        let (holder, last) = header.rsplit_once('.').unwrap_or(("", &header));
        let path = if holder.is_empty() { NodePath::root() } else { path_of(holder) };
        return Context { path, part: Writing::Key(word(last, offset)), siblings: Vec::new() };
    }
    let above = (0..line).rev().find_map(|line| header(text.line(line)));
    let path = above.map_or_else(NodePath::root, |header| path_of(&header));
    let in_table = |line: &usize| !text.line(*line).trim_start().starts_with('[');
    let entry = |line: usize| {
        let (key, value) = text.line(line).split_once('=')?;
        Some((key.trim().to_owned(), unquoted(value)))
    };
    let before = (0..line).rev().take_while(in_table);
    let after = (line + 1..text.line_count()).take_while(in_table);
    let siblings = before.chain(after).filter_map(entry).collect();
    match typed.split_once('=') {
        Some((key, value)) => {
            let opened = value.trim_start().trim_start_matches(['[', ' ']);
            let opened = opened.rsplit_once(',').map_or(opened, |(_, last)| last.trim_start());
            let part = Writing::Value { span: word(opened, offset), opened: opened.to_owned() };
            Context { path: path.key(key.trim()), part, siblings }
        }
        None => Context { path, part: Writing::Key(word(typed.trim_start(), offset)), siblings },
    }
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line == "---"
}

/// The key of `key: value` and what follows the colon; `None` where no colon ends a key.
fn split_entry(text: &str) -> Option<(String, &str)> {
    let (key, value) = if let Some(inside) = text.strip_prefix(['"', '\'']) {
        let quote = text.chars().next()?;
        let (key, rest) = inside.split_once(quote)?;
        (key, rest.trim_start().strip_prefix(':')?)
    } else {
        let colon = text.match_indices(':').find(|(at, _)| {
            let behind = &text[at + 1..];
            behind.is_empty() || behind.starts_with(' ')
        })?;
        let key = &text[..colon.0];
        if key.contains(['{', '[', '"', '#', ',']) {
            return None;
        }
        (key.trim_end(), &text[colon.0 + 1..])
    };
    Some((key.to_owned(), value.trim_start()))
}

/// Whether the bracket that a value begins with is still open at its end.
fn is_open(value: &str) -> bool {
    depths(value).last().is_some_and(|(_, depth)| *depth > 0)
}

/// The items between the commas of an open collection.
fn split_items(inside: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut from = 0;
    for (at, depth) in depths(inside) {
        if depth == 0 && inside[at..].starts_with(',') {
            items.push(inside[from..at].trim_start());
            from = at + 1;
        }
    }
    items.push(inside[from..].trim_start());
    items
}

/// How many brackets are open behind each character that stands outside quotes.
fn depths(text: &str) -> Vec<(usize, usize)> {
    let (mut depth, mut quote) = (0usize, None);
    let mut found = Vec::new();
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => continue,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        found.push((at, depth));
    }
    found
}

fn unquoted(value: &str) -> String {
    let value = value.split(" #").next().unwrap_or_default().trim();
    value.trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::PositionEncoding;

    fn at(marked: &str) -> (String, String, Vec<String>) {
        let offset = marked.find('|').unwrap();
        let text = Text::new(marked.replacen('|', "", 1), PositionEncoding::Utf8);
        let context = Context::at(&text, offset);
        let part = match context.part {
            Writing::Key(span) => format!("key {}", &text.as_str()[span.range()]),
            Writing::Value { span, .. } => format!("value {}", &text.as_str()[span.range()]),
        };
        (context.path.to_string(), part, context.siblings.into_iter().map(|(key, _)| key).collect())
    }

    #[track_caller]
    fn check(marked: &str, path: &str, part: &str) {
        let found = at(marked);
        assert_eq!((found.0.as_str(), found.1.as_str()), (path, part), "{marked}");
    }

    #[test]
    fn keys_and_values_are_found_in_block_style() {
        check("attack:\n  na|", "attack", "key na");
        check("attack:\n  name: Rug|", "attack.name", "value Rug");
        check("attack:\n  list:\n    - a: 1\n      b: 2\n    - c: |", "attack.list[1].c", "value ");
        check("attack:\n  list:\n  - a: 1\n  - |", "attack.list[1]", "key ");
        check("a:\n  b: 1\n\nc|", "", "key c");
        check("a:\n  b:\n    c: 1\n  |", "a", "key ");
        check("a: \"x|\"", "a", "value x");
    }

    #[test]
    fn flow_style_and_block_scalars_are_followed() {
        check("a:\n  m: {framework: owasp|", "a.m.framework", "value owasp");
        check("a: {x: 1, y|", "a", "key y");
        check("a: [one, tw|", "a[1]", "value tw");
        check("a: [{x: 1}, {y: z|", "a[1].y", "value z");
        check("a: [{x: 1}, {x|", "a[1]", "key x");
        check("a:\n  - {x: 1, y: z|", "a[0].y", "value z");
        check("a:\n  - {x: \"{{b|", "a[0].x", "value {{b");
        check("a:\n  text: >\n    one: two\n    thr|", "a.text", "value ");
    }

    #[test]
    fn tables_keys_and_values_of_toml_are_found() {
        for (marked, path, part) in [
            ("[agents.x]\ncom|", "agents.x", "key com"),
            ("[targets.shop]\nkind = \"m|\"", "targets.shop.kind", "value m"),
            ("[ta|", "", "key ta"),
            ("[targets.s|]", "targets", "key s"),
            ("ev|", "", "key ev"),
            ("[models.a]\nwithout = [\"seed\", \"t|", "models.a.without", "value t"),
        ] {
            let offset = marked.find('|').unwrap();
            let text = Text::new(marked.replacen('|', "", 1), PositionEncoding::Utf8);
            let context = settings_context(&text, offset);
            let found = match context.part {
                Writing::Key(span) => format!("key {}", &text.as_str()[span.range()]),
                Writing::Value { span, .. } => format!("value {}", &text.as_str()[span.range()]),
            };
            assert_eq!((context.path.to_string().as_str(), found.as_str()), (path, part), "{marked}");
        }
    }

    #[test]
    fn siblings_are_those_of_the_same_mapping() {
        let (_, _, siblings) = at("l:\n  - a: 1\n    b: 2\n  - c: 3\n    |\n    d: 4\ne: 5\n");
        assert_eq!(siblings, ["c", "d"]);
    }
}

//! Writes a tree as a pattern of RE2.

use std::fmt::Write as _;

use sortie_syntax::shown::all_visible;

use super::node::{Class, ClassItem, Node};

/// RE2 counts up to this.
const MAX_COUNT: u32 = 1000;

/// White space of JavaScript, within brackets: `\s` of RE2 is ASCII, and lacks the vertical tab.
const SPACE: &str = r"\s\v\pZ\x{FEFF}";

/// Everything else.
const NOT_SPACE: &str = r"\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}";

/// A pattern that finds the same, whatever the case of letters.
pub(super) fn write(node: &Node) -> String {
    let mut out = "(?i)".to_owned();
    Writer { out: &mut out }.node(node, Place::Top);
    out
}

/// What a piece stands in, which says when it needs a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Top,
    Concat,
    Repeat,
}

struct Writer<'o> {
    out: &'o mut String,
}

impl Writer<'_> {
    // Recursion is bounded by the depth that the parser accepts.
    fn node(&mut self, node: &Node, place: Place) {
        match node {
            Node::Empty if place == Place::Repeat => self.out.push_str("(?:)"),
            // Whoever writes has taken look-around out.
            Node::Empty | Node::Look { .. } => {}
            Node::Letter(letter) => self.letter(*letter),
            Node::Class(class) => self.class(class),
            Node::Start => self.out.push('^'),
            Node::End => self.out.push('$'),
            Node::Boundary { negated } => self.out.push_str(if *negated { r"\B" } else { r"\b" }),
            Node::Concat(nodes) => self.grouped(place >= Place::Repeat, |writer| {
                for node in nodes {
                    writer.node(node, Place::Concat);
                }
            }),
            Node::Either(nodes) => self.grouped(place >= Place::Concat, |writer| {
                for (at, node) in nodes.iter().enumerate() {
                    if at > 0 {
                        writer.out.push('|');
                    }
                    writer.node(node, Place::Top);
                }
            }),
            Node::Repeat { node, min, max, greedy } => {
                let parts = counted(*min, *max);
                self.grouped(place >= Place::Repeat, |writer| {
                    for (min, max) in parts {
                        writer.node(node, Place::Repeat);
                        writer.count(min, max);
                        if !greedy {
                            writer.out.push('?');
                        }
                    }
                });
            }
        }
    }

    fn grouped(&mut self, is_group: bool, write: impl FnOnce(&mut Self)) {
        if is_group {
            self.out.push_str("(?:");
        }
        write(self);
        if is_group {
            self.out.push(')');
        }
    }

    fn count(&mut self, min: u32, max: Option<u32>) {
        match (min, max) {
            (0, None) => self.out.push('*'),
            (1, None) => self.out.push('+'),
            (0, Some(1)) => self.out.push('?'),
            (min, None) => _ = write!(self.out, "{{{min},}}"), // a string takes whatever is written
            (min, Some(max)) if min == max => _ = write!(self.out, "{{{min}}}"),
            (min, Some(max)) => _ = write!(self.out, "{{{min},{max}}}"),
        }
    }

    fn letter(&mut self, letter: char) {
        if r"\.+*?()|[]{}^$".contains(letter) {
            self.out.push('\\');
            self.out.push(letter);
        } else {
            self.shown(letter);
        }
    }

    /// A character, or the escape of one that people cannot see.
    fn shown(&mut self, letter: char) {
        match letter {
            '\n' => self.out.push_str(r"\n"),
            '\r' => self.out.push_str(r"\r"),
            '\t' => self.out.push_str(r"\t"),
            letter if all_visible(letter.encode_utf8(&mut [0; 4])) => self.out.push(letter),
            letter => _ = write!(self.out, r"\x{{{:X}}}", u32::from(letter)),
        }
    }

    fn class(&mut self, class: &Class) {
        if class.is_everything() {
            return self.out.push_str("(?s:.)");
        }
        if let [item] = class.items.as_slice()
            && let Some(escape) = alone(item, class.negated)
        {
            return self.out.push_str(escape);
        }
        self.out.push_str(if class.negated { "[^" } else { "[" });
        if class.items.is_empty() {
            // `[]` is nothing at all.
            self.out.push_str(r"^\x00-\x{10FFFF}");
        }
        for item in &class.items {
            match item {
                ClassItem::Range(first, last) if first == last => self.class_letter(*first),
                ClassItem::Range(first, last) => {
                    self.class_letter(*first);
                    self.out.push('-');
                    self.class_letter(*last);
                }
                ClassItem::Space { negated: false } => self.out.push_str(SPACE),
                ClassItem::Space { negated: true } => self.out.push_str(NOT_SPACE),
                ClassItem::Group { name, negated } => {
                    _ = write!(self.out, r"\{}{{{name}}}", if *negated { 'P' } else { 'p' });
                }
                item => self.out.push_str(alone(item, false).unwrap_or_default()),
            }
        }
        self.out.push(']');
    }

    fn class_letter(&mut self, letter: char) {
        if r"\[]^-".contains(letter) {
            self.out.push('\\');
            self.out.push(letter);
        } else {
            self.shown(letter);
        }
    }
}

/// The escape of a class that needs no brackets.
fn alone(item: &ClassItem, is_negated: bool) -> Option<&'static str> {
    match item {
        ClassItem::Digit { negated } => Some(if *negated == is_negated { r"\d" } else { r"\D" }),
        ClassItem::Word { negated } => Some(if *negated == is_negated { r"\w" } else { r"\W" }),
        _ => None,
    }
}

/// Counts that RE2 accepts, one after the other.
fn counted(min: u32, max: Option<u32>) -> Vec<(u32, Option<u32>)> {
    let mut parts = Vec::new();
    let (mut min, mut max) = (min, max);
    // The parser bounds the pattern and RE2 its size: one with more parts than this is refused there.
    while parts.len() < 16 && min.max(max.unwrap_or(0)) > MAX_COUNT {
        let first = min.min(MAX_COUNT);
        parts.push((first, max.map(|max| max.min(MAX_COUNT)).or(Some(first))));
        min -= first;
        max = max.map(|max| max.saturating_sub(MAX_COUNT));
    }
    parts.push((min, max));
    parts
}

//! Pieces of a syntax tree, each with what it will cost.

use std::ops::Range;

use regex_syntax::hir::{Capture, Class, ClassUnicode, Hir, Look, Repetition};
use regex_syntax::utf8::{Utf8Range, Utf8Sequences};

use super::error::{Re2Error, Re2ErrorKind};
use super::repeat::{Bounds, MAX_REPEAT};
use super::unicode;

/// The largest compiled size that is accepted: byte transitions of the automaton, and [`COPY`] for every
/// copy that a repeat makes of its argument.
///
/// This bounds memory and compile time, and also the slowest search. RE2's limit is on memory, and a few
/// times higher.
pub(super) const MAX_SIZE: usize = 150_000;

/// What a copy costs beyond its size. In the slowest search every copy is looked at again for every byte of
/// text, which is far more than its share of memory: `a{0,1000}` eight times in a row, the most that is
/// accepted, takes 100 µs a byte.
const COPY: usize = 16;

/// How deep pieces may nest, where a repeat counts as [`REPEAT_DEPTH`] levels.
///
/// The engine compiles recursively. In a debug build, this depth takes about two thirds of a 2 MiB stack.
/// Groups that only group do not count: they leave no trace in the tree.
const MAX_DEPTH: u16 = 300;

/// A repeat takes this many times the stack of a sequence or an alternation.
const REPEAT_DEPTH: u16 = 3;

/// A piece of the pattern: what it is, and what it will cost.
///
/// The engine's own tree is made of it at the end, and only if the pattern is to be compiled: it is dear to
/// build piece by piece, and checking a pattern does without.
#[derive(Debug)]
pub(super) struct Node {
    piece: Piece,
    /// Byte transitions of the automaton, with every repeat written out.
    size: usize,
    /// How deep the tree below is.
    depth: u16,
    /// The highest product of nested repeat counts.
    repeat: u32,
}

#[derive(Debug)]
enum Piece {
    Empty,
    Literal(char),
    /// A character in any case.
    Folded(char),
    Class(ClassUnicode),
    Look(Look),
    FirstGroup(Box<Node>),
    Repeat(Bounds, bool, Box<Node>),
    Concat(Vec<Node>),
    Alternation(Vec<Node>),
}

impl Node {
    /// A piece without parts.
    fn leaf(piece: Piece, size: usize) -> Self {
        Self { piece, size, depth: 1, repeat: 1 }
    }

    pub(super) fn look(look: Look) -> Self {
        Self::leaf(Piece::Look(look), 1)
    }

    pub(super) fn literal(c: char) -> Self {
        Self::leaf(Piece::Literal(c), c.len_utf8())
    }

    pub(super) fn folded(c: char) -> Self {
        let size = match c {
            // Those with a case outside ASCII.
            'k' | 'K' | 's' | 'S' => class_size(&unicode::fold_char(c)),
            _ if c.is_ascii_alphabetic() => 3,
            _ if c.is_ascii() => 2,
            _ => class_size(&unicode::fold_char(c)),
        };
        Self::leaf(Piece::Folded(c), size)
    }

    pub(super) fn class(set: ClassUnicode) -> Self {
        let size = class_size(&set);
        Self::leaf(Piece::Class(set), size)
    }

    /// What `self` costs a pattern that holds it once.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Whether a match of it may be empty. Recursion is bounded by [`MAX_DEPTH`].
    pub(super) fn may_be_empty(&self) -> bool {
        match &self.piece {
            Piece::Empty | Piece::Look(_) => true,
            Piece::Literal(_) | Piece::Folded(_) | Piece::Class(_) => false,
            Piece::FirstGroup(node) => node.may_be_empty(),
            Piece::Repeat(bounds, _, node) => bounds.min == 0 || node.may_be_empty(),
            Piece::Concat(nodes) => nodes.iter().all(Self::may_be_empty),
            Piece::Alternation(nodes) => nodes.iter().any(Self::may_be_empty),
        }
    }

    /// Group 1. The other groups are only counted: nobody asks for them, and each costs memory in every
    /// search.
    pub(super) fn into_first_group(self) -> Self {
        Self {
            size: self.size + 2,
            depth: self.depth + 1,
            repeat: self.repeat,
            piece: Piece::FirstGroup(Box::new(self)),
        }
    }

    pub(super) fn repeated(self, bounds: Bounds, greedy: bool, span: Range<usize>) -> Result<Self, Re2Error> {
        let repeat = self.repeat.saturating_mul(bounds.copies());
        // RE2 looks only when a count of two or more is added, so `(?:a{1000})+` is fine.
        if bounds.copies() > 1 && repeat > MAX_REPEAT {
            return Err(Re2Error::new(
                span,
                "together with the repeats inside, this counts to more than 1000",
            )
            .help("use `*` or `+`, or check the length with a CEL expression"));
        }
        let node = Self {
            size: (self.size + COPY).saturating_mul(bounds.copies() as usize),
            depth: self.depth + REPEAT_DEPTH,
            repeat,
            piece: Piece::Repeat(bounds, greedy, Box::new(self)),
        };
        node.within_limits(span)
    }

    /// Nodes one after the other.
    pub(super) fn concat(nodes: Vec<Self>, span: Range<usize>) -> Result<Self, Re2Error> {
        Self::join(nodes, Piece::Concat, 0, span)
    }

    /// Nodes in order of preference.
    pub(super) fn alternation(nodes: Vec<Self>, span: Range<usize>) -> Result<Self, Re2Error> {
        Self::join(nodes, Piece::Alternation, 1, span)
    }

    /// Joins nodes, each of which costs `each` on top of its size.
    fn join(
        mut nodes: Vec<Self>,
        join: fn(Vec<Self>) -> Piece,
        each: usize,
        span: Range<usize>,
    ) -> Result<Self, Re2Error> {
        if nodes.len() == 1
            && let Some(node) = nodes.pop()
        {
            return Ok(node);
        }
        let mut joined = Self::leaf(Piece::Empty, 1);
        for node in &nodes {
            joined.size = joined.size.saturating_add(node.size).saturating_add(each);
            joined.depth = joined.depth.max(node.depth + 1);
            joined.repeat = joined.repeat.max(node.repeat);
        }
        if !nodes.is_empty() {
            joined.piece = join(nodes);
        }
        joined.within_limits(span)
    }

    /// The engine's tree. Recursion is bounded by [`MAX_DEPTH`].
    pub(super) fn into_hir(self) -> Hir {
        let all = |nodes: Vec<Self>| nodes.into_iter().map(Self::into_hir).collect();
        match self.piece {
            Piece::Empty => Hir::empty(),
            Piece::Literal(c) => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Piece::Folded(c) => Hir::class(Class::Unicode(unicode::fold_char(c))),
            Piece::Class(set) => Hir::class(Class::Unicode(set)),
            Piece::Look(look) => Hir::look(look),
            Piece::FirstGroup(node) => {
                Hir::capture(Capture { index: 1, name: None, sub: Box::new(node.into_hir()) })
            }
            Piece::Repeat(Bounds { min, max }, greedy, node) => {
                Hir::repetition(Repetition { min, max, greedy, sub: Box::new(node.into_hir()) })
            }
            Piece::Concat(nodes) => Hir::concat(all(nodes)),
            Piece::Alternation(nodes) => Hir::alternation(all(nodes)),
        }
    }

    fn within_limits(self, span: Range<usize>) -> Result<Self, Re2Error> {
        if self.depth > MAX_DEPTH {
            return Err(Re2Error::beyond(
                Re2ErrorKind::TooDeep,
                span,
                "repeats and alternatives nest too deep here",
            )
            .help("a hundred repeats inside each other are accepted, or sixty with alternatives"));
        }
        if self.size > MAX_SIZE {
            return Err(too_large(span));
        }
        Ok(self)
    }
}

/// What may still be spent on single pieces, before repeats multiply them.
///
/// Keeps a pattern of a few thousand large classes from being built before it is found too large.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { left: MAX_SIZE }
    }

    pub(super) fn spend(&mut self, cost: usize, span: Range<usize>) -> Result<(), Re2Error> {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(too_large(span)),
        }
    }
}

pub(super) fn too_large(span: Range<usize>) -> Re2Error {
    Re2Error::beyond(
        Re2ErrorKind::TooLarge,
        span,
        "the pattern is too large once its repeats are written out",
    )
    .help("count less far, or repeat a smaller class: `\\w` instead of `\\p{L}`")
}

/// How many byte transitions a class needs. Neighbouring sequences share their first bytes.
fn class_size(set: &ClassUnicode) -> usize {
    let mut size = 1;
    let mut previous: Vec<Utf8Range> = Vec::with_capacity(4);
    for range in set.iter() {
        for sequence in Utf8Sequences::new(range.start(), range.end()) {
            let bytes = sequence.as_slice();
            let shared = bytes.iter().zip(&previous).take_while(|(a, b)| a == b).count();
            size += bytes.len() - shared;
            previous.clear();
            previous.extend_from_slice(bytes);
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::super::unicode::class;
    use super::*;

    #[test]
    fn a_character_in_any_case_costs_what_its_class_does() {
        for c in ('\0'..'\u{250}').chain(['ẞ', '\u{212A}', 'Ω', '\u{10400}']) {
            assert_eq!(Node::folded(c).size, class_size(&unicode::fold_char(c)), "{c:?}");
        }
    }

    #[test]
    fn the_size_of_a_class_is_counted_in_bytes() {
        assert_eq!(class_size(&class([('a', 'z')])), 2);
        assert_eq!(class_size(&class([('a', 'f'), ('x', 'z')])), 3);
        // Two bytes of one sequence.
        assert_eq!(class_size(&class([('é', 'é')])), 3);
        // The second shares its first byte.
        assert_eq!(class_size(&class([('é', 'é'), ('ü', 'ü')])), 4);
        // One, two, four times three and three times four bytes.
        assert_eq!(class_size(&class([('\0', char::MAX)])), 28);
    }
}

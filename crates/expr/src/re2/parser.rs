//! From pattern text to a syntax tree, by RE2's rules.

use regex_syntax::hir::{ClassUnicode, Look};

use super::class;
use super::cursor::Cursor;
use super::error::{Re2Error, Re2ErrorKind};
use super::escape;
use super::group::{self, Flags, Opening};
use super::node::{Budget, Node};
use super::repeat::{self, Bounds};
use super::unicode;

/// A pattern that RE2 accepts.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    /// How many groups capture. Only the first of them is in the tree.
    pub(super) groups: usize,
}

/// Reads `pattern`, which is all of it or an error.
pub(super) fn parse(pattern: &str) -> Result<Parsed, Re2Error> {
    let mut parser = Parser::new(pattern);
    while let Some(c) = parser.cursor.peek() {
        parser.step(c)?;
    }
    parser.finish()
}

/// Open groups are kept on a stack of its own, not on the thread's: nesting parentheses costs memory and
/// nothing else.
struct Parser<'p> {
    cursor: Cursor<'p>,
    flags: Flags,
    current: Frame,
    outer: Vec<Frame>,
    groups: usize,
    budget: Budget,
    /// Where the repeat begins that has just been read, if one has: it cannot be repeated itself.
    last_repeat: Option<usize>,
}

/// What has been read of one group.
struct Frame {
    /// Where the group begins, and where its contents do.
    start: usize,
    contents: usize,
    /// The group's number, if it captures.
    capture: Option<usize>,
    /// The flags to return to behind the group.
    flags_outside: Flags,
    /// Finished alternatives.
    alternatives: Vec<Node>,
    /// The alternative that is being read.
    concat: Vec<Node>,
}

impl<'p> Parser<'p> {
    fn new(pattern: &'p str) -> Self {
        Self {
            cursor: Cursor::new(pattern),
            flags: Flags::default(),
            current: Frame::new(0, 0, None, Flags::default()),
            outer: Vec::new(),
            groups: 0,
            budget: Budget::new(),
            last_repeat: None,
        }
    }

    /// Reads one piece, which begins with `c`.
    fn step(&mut self, c: char) -> Result<(), Re2Error> {
        let last_repeat = self.last_repeat.take();
        let start = self.cursor.at();
        match c {
            '(' => self.open(),
            ')' => self.close(),
            '|' => {
                self.cursor.next();
                self.current.end_alternative(start)
            }
            '*' | '+' | '?' => {
                self.cursor.next();
                let bounds = match c {
                    '*' => Bounds { min: 0, max: None },
                    '+' => Bounds { min: 1, max: None },
                    _ => Bounds { min: 0, max: Some(1) },
                };
                self.repeat(bounds, start, last_repeat)
            }
            '{' => match repeat::counted(&mut self.cursor) {
                Some(bounds) => {
                    repeat::check(bounds, &self.cursor, start)?;
                    self.repeat(bounds, start, last_repeat)
                }
                None => self.literal(),
            },
            '^' if self.flags.multi_line => self.assertion(Look::StartLF, 1),
            '^' => self.assertion(Look::Start, 1),
            '$' if self.flags.multi_line => self.assertion(Look::EndLF, 1),
            // The very end: not before a last newline, as other dialects have it.
            '$' => self.assertion(Look::End, 1),
            '.' => {
                self.cursor.next();
                let newline = if self.flags.dot_newline { '\n' } else { '\t' };
                // Up to the newline or past it, and everything behind it.
                let set = unicode::class([('\0', newline), ('\x0B', char::MAX)]);
                self.push(Node::class(set), start)
            }
            '[' => {
                let set = class::bracketed(&mut self.cursor, self.flags.fold_case, &mut self.budget)?;
                self.push(Node::class(set), start)
            }
            '\\' => self.escape(),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<(), Re2Error> {
        let start = self.cursor.at();
        match self.cursor.next() {
            Some(c) => self.push_char(c, start),
            None => Ok(()),
        }
    }

    fn assertion(&mut self, look: Look, length: usize) -> Result<(), Re2Error> {
        let start = self.cursor.at();
        for _ in 0..length {
            self.cursor.next();
        }
        self.push(Node::look(look), start)
    }

    fn escape(&mut self) -> Result<(), Re2Error> {
        let start = self.cursor.at();
        match self.cursor.rest().as_bytes().get(1) {
            Some(b'A') => return self.assertion(Look::Start, 2),
            Some(b'z') => return self.assertion(Look::End, 2),
            Some(b'b') => return self.assertion(Look::WordAscii, 2),
            // Between any two bytes, so also inside a character: see `Regex::find`.
            Some(b'B') => return self.assertion(Look::WordAsciiNegate, 2),
            Some(b'C') => {
                return Err(Re2Error::beyond(
                    Re2ErrorKind::Unsupported,
                    start..start + 2,
                    "`\\C` can match half a character, which text here cannot show",
                )
                .help("use `(?s:.)` for any character"));
            }
            Some(b'Q') => return self.quoted(),
            _ => {}
        }
        if let Some(set) = class::escaped(&mut self.cursor, self.flags.fold_case, &mut self.budget)? {
            return self.push(Node::class(set), start);
        }
        let code_point = escape::code_point(&mut self.cursor)?;
        match char::from_u32(code_point) {
            Some(c) => self.push_char(c, start),
            // A surrogate, which no text holds.
            None => self.push(Node::class(ClassUnicode::empty()), start),
        }
    }

    /// `\Q...\E`, where the end of the pattern ends it as well.
    fn quoted(&mut self) -> Result<(), Re2Error> {
        self.cursor.eat("\\Q");
        while !self.cursor.rest().is_empty() && !self.cursor.eat("\\E") {
            self.literal()?;
        }
        Ok(())
    }

    fn push_char(&mut self, c: char, start: usize) -> Result<(), Re2Error> {
        let node = if self.flags.fold_case { Node::folded(c) } else { Node::literal(c) };
        self.push(node, start)
    }

    fn push(&mut self, node: Node, start: usize) -> Result<(), Re2Error> {
        self.budget.spend(node.size(), self.cursor.since(start))?;
        self.current.concat.push(node);
        Ok(())
    }

    /// Repeats the last piece; the operator begins at `start`.
    fn repeat(&mut self, bounds: Bounds, start: usize, last_repeat: Option<usize>) -> Result<(), Re2Error> {
        let possessive = self.cursor.text_since(start) == "+";
        let lazy = self.cursor.eat("?");
        let span = self.cursor.since(start);
        if let Some(first) = last_repeat {
            let span = self.cursor.since(first);
            return Err(if possessive {
                Re2Error::new(span, "possessive repeats are not part of RE2")
                    .help("leave out the last `+`: RE2 searches in linear time without it")
            } else {
                Re2Error::new(span, "a repeat cannot be repeated")
                    .help("put the first repeat in a group: `(?:a{2}){3}`")
            });
        }
        let Some(node) = self.current.concat.pop() else {
            return Err(Re2Error::new(span, "there is nothing here to repeat")
                .help("escape the character with a backslash to match it"));
        };
        let greedy = lazy == self.flags.swap_greed;
        self.current.concat.push(node.repeated(bounds, greedy, span)?);
        self.last_repeat = Some(start);
        Ok(())
    }

    fn open(&mut self) -> Result<(), Re2Error> {
        let start = self.cursor.at();
        let (capture, flags) = match group::opening(&mut self.cursor, self.flags)? {
            Opening::Flags(flags) => {
                self.flags = flags;
                return Ok(());
            }
            Opening::Group(flags) => (None, flags),
            Opening::Capture => {
                self.groups += 1;
                (Some(self.groups), self.flags)
            }
        };
        let inner = Frame::new(start, self.cursor.at(), capture, self.flags);
        self.outer.push(std::mem::replace(&mut self.current, inner));
        self.flags = flags;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Re2Error> {
        let end = self.cursor.at();
        self.cursor.next();
        let Some(outer) = self.outer.pop() else {
            return Err(Re2Error::new(end..end + 1, "this parenthesis closes nothing")
                .help("write `\\)` for a parenthesis itself"));
        };
        let inner = std::mem::replace(&mut self.current, outer);
        self.flags = inner.flags_outside;
        let first_group = inner.capture == Some(1);
        let node = inner.finish(end)?;
        self.current.concat.push(if first_group { node.into_first_group() } else { node });
        Ok(())
    }

    fn finish(self) -> Result<Parsed, Re2Error> {
        // The pattern itself is the outermost frame; the group to blame is the first inside it.
        let open = match self.outer.as_slice() {
            [] => None,
            [_] => Some(&self.current),
            [_, first, ..] => Some(first),
        };
        if let Some(first) = open {
            return Err(Re2Error::new(first.start..first.contents, "this group is never closed")
                .help("write `\\(` for a parenthesis itself"));
        }
        let node = self.current.finish(self.cursor.at())?;
        Ok(Parsed { node, groups: self.groups })
    }
}

impl Frame {
    fn new(start: usize, contents: usize, capture: Option<usize>, flags_outside: Flags) -> Self {
        Self { start, contents, capture, flags_outside, alternatives: Vec::new(), concat: Vec::new() }
    }

    fn end_alternative(&mut self, end: usize) -> Result<(), Re2Error> {
        let concat = std::mem::take(&mut self.concat);
        self.alternatives.push(Node::concat(concat, self.contents..end)?);
        Ok(())
    }

    /// The whole group, whose contents end at `end`.
    fn finish(mut self, end: usize) -> Result<Node, Re2Error> {
        self.end_alternative(end)?;
        Node::alternation(self.alternatives, self.contents..end)
    }
}

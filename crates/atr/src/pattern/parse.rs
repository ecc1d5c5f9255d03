//! Reads a JavaScript regular expression, as a browser does: with the oddities of annex B unless the flag `u` is set.

use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

use super::error::{PatternError, PatternErrorKind};
use super::node::{Class, ClassItem, Node};

/// How deep groups nest.
const MAX_DEPTH: usize = 60;

/// The longest pattern that is read, in bytes.
const MAX_PATTERN: usize = 32 * 1024;

type Parsed<T> = Result<T, PatternError>;

/// Reads a pattern. `unicode` is the flag `u`.
pub(super) fn parse(pattern: &str, unicode: bool) -> Parsed<Node> {
    if pattern.len() > MAX_PATTERN {
        let message = format!("a pattern of {} bytes is too long: {MAX_PATTERN} are read", pattern.len());
        return Err(PatternError::new(PatternErrorKind::TooLarge, 0..pattern.len(), message));
    }
    let mut parser = Parser {
        pattern,
        letters: pattern.char_indices().peekable(),
        unicode,
        groups: count_groups(pattern),
        has_names: pattern.contains("(?<")
            && pattern.split("(?<").skip(1).any(|rest| !rest.starts_with(['=', '!'])),
    };
    let node = parser.alternatives(0)?;
    if let Some((at, _)) = parser.letters.next() {
        return Err(parser.invalid(at, "this parenthesis closes nothing"));
    }
    Ok(node)
}

/// How many groups capture: `\3` is a back-reference where there are three, and a character otherwise.
fn count_groups(pattern: &str) -> usize {
    let (mut count, mut in_class) = (0, false);
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        match letter {
            '\\' => {
                let escaped = after.chars().next().map_or(0, char::len_utf8);
                rest = &after[escaped..];
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let named = after.starts_with("?<") && !after.starts_with("?<=") && !after.starts_with("?<!");
                count += usize::from(!after.starts_with('?') || named);
            }
            _ => {}
        }
        rest = after;
    }
    count
}

/// A character of its two halves.
fn joined(high: u32, low: u32) -> Option<char> {
    let is_pair = (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
    is_pair.then(|| char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)))?
}

struct Parser<'p> {
    pattern: &'p str,
    letters: Peekable<CharIndices<'p>>,
    unicode: bool,
    groups: usize,
    has_names: bool,
}

/// What an escape stands for.
#[derive(Clone)]
enum Escape {
    Letter(char),
    Item(ClassItem),
    /// Half of a character beyond U+FFFF.
    Half(u32),
}

impl Parser<'_> {
    fn at(&mut self) -> usize {
        self.letters.peek().map_or(self.pattern.len(), |(at, _)| *at)
    }

    fn peek(&mut self) -> Option<char> {
        self.letters.peek().map(|(_, letter)| *letter)
    }

    fn next(&mut self) -> Option<char> {
        self.letters.next().map(|(_, letter)| letter)
    }

    fn eat(&mut self, text: &str) -> bool {
        let at = self.at();
        let is_there = self.pattern[at..].starts_with(text);
        if is_there {
            for _ in text.chars() {
                self.letters.next();
            }
        }
        is_there
    }

    fn since(&mut self, start: usize) -> Range<usize> {
        start..self.at().max(start)
    }

    fn error(&mut self, kind: PatternErrorKind, start: usize, message: &str) -> PatternError {
        let span = self.since(start);
        PatternError::new(kind, span, message)
    }

    fn invalid(&mut self, start: usize, message: &str) -> PatternError {
        self.error(PatternErrorKind::Invalid, start, message)
    }

    fn half(&mut self, start: usize) -> PatternError {
        let message = "without the flag `u` this asks for half of a character";
        self.error(PatternErrorKind::HalfCharacter, start, message)
    }

    // Recursion is bounded by `MAX_DEPTH`.
    fn alternatives(&mut self, depth: usize) -> Parsed<Node> {
        if depth > MAX_DEPTH {
            let at = self.at();
            return Err(self.error(PatternErrorKind::TooLarge, at, "groups nest too deep here"));
        }
        let mut branches = Vec::new();
        loop {
            branches.push(self.sequence(depth)?);
            if !self.eat("|") {
                return Ok(Node::either(branches));
            }
        }
    }

    fn sequence(&mut self, depth: usize) -> Parsed<Node> {
        let mut nodes = Vec::new();
        while let Some(letter) = self.peek() {
            if letter == '|' || letter == ')' {
                break;
            }
            let start = self.at();
            let node = self.atom(depth)?;
            nodes.push(self.repeated(node, start)?);
        }
        Ok(Node::concat(nodes))
    }

    fn atom(&mut self, depth: usize) -> Parsed<Node> {
        let start = self.at();
        let letter = self.next().unwrap_or_default();
        Ok(match letter {
            '^' => Node::Start,
            '$' => Node::End,
            '.' => Node::Class(Class::dot()),
            '(' => self.group(start, depth)?,
            '[' => Node::Class(self.class(start)?),
            '\\' => return self.escaped(start),
            '*' | '+' | '?' => return Err(self.invalid(start, "there is nothing here to repeat")),
            '{' if self.unicode || self.counts(start).is_some() => {
                return Err(self.invalid(start, "there is nothing here to repeat"));
            }
            ']' | '}' if self.unicode => return Err(self.invalid(start, "this bracket closes nothing")),
            letter => Node::Letter(letter),
        })
    }

    fn group(&mut self, start: usize, depth: usize) -> Parsed<Node> {
        let look = if self.eat("?=") {
            Some((true, false))
        } else if self.eat("?!") {
            Some((true, true))
        } else if self.eat("?<=") {
            Some((false, false))
        } else if self.eat("?<!") {
            Some((false, true))
        } else {
            None
        };
        if look.is_none() && self.eat("?<") {
            let at = self.at();
            let name = self.pattern[at..].split_once('>').map_or("", |(name, _)| name);
            if name.is_empty() || !self.eat(name) || !self.eat(">") {
                return Err(self.invalid(start, "the name of this group does not end"));
            }
        } else if look.is_none() && !self.eat("?:") && self.peek() == Some('?') {
            return Err(self.invalid(start, "JavaScript has no such group"));
        }
        let node = self.alternatives(depth + 1)?;
        if !self.eat(")") {
            return Err(self.invalid(start, "this group is never closed"));
        }
        Ok(match look {
            Some((ahead, negated)) => Node::Look { ahead, negated, node: Box::new(node) },
            None => node,
        })
    }

    /// Reads what is repeated how often.
    fn repeated(&mut self, node: Node, start: usize) -> Parsed<Node> {
        let at = self.at();
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts(at) {
                Some((min, max, length)) => {
                    for _ in 1..length {
                        self.next();
                    }
                    (min, max)
                }
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        self.next();
        let greedy = !self.eat("?");
        if matches!(node, Node::Start | Node::End | Node::Boundary { .. }) {
            return Err(self.invalid(start, "there is nothing here to repeat"));
        }
        if max.is_some_and(|max| max < min) {
            return Err(self.invalid(at, "this repeat ends before it begins"));
        }
        if matches!(node, Node::Look { .. }) {
            return Err(self.error(PatternErrorKind::LookAround, start, "look-around is repeated here"));
        }
        if matches!(node, Node::Letter(letter) if letter > '\u{FFFF}') && !self.unicode {
            return Err(self.half(start));
        }
        Ok(Node::Repeat { node: Box::new(node), min, max, greedy })
    }

    /// The counts in braces that begin here, and how many bytes they take. Without counts, braces are characters.
    fn counts(&self, at: usize) -> Option<(u32, Option<u32>, usize)> {
        let (inside, _) = self.pattern[at..].strip_prefix('{')?.split_once('}')?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            is_number.then(|| digits.parse().unwrap_or(u32::MAX))
        };
        let (min, max) = match inside.split_once(',') {
            None => (number(inside)?, Some(number(inside)?)),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        Some((min, max, inside.len() + 2))
    }

    fn escaped(&mut self, start: usize) -> Parsed<Node> {
        let letter = self.peek();
        if let Some(boundary @ ('b' | 'B')) = letter {
            self.next();
            return Ok(Node::Boundary { negated: boundary == 'B' });
        }
        if let Some(digit @ '1'..='9') = letter {
            let at = self.at();
            let digits = self.pattern[at..].bytes().take_while(u8::is_ascii_digit).count();
            let number = self.pattern[at..at + digits].parse().unwrap_or(usize::MAX);
            if number <= self.groups || self.unicode {
                self.next();
                return Err(self.back_reference(start));
            }
            if !digit.is_digit(8) {
                self.next();
                return Ok(Node::Letter(digit));
            }
            return Ok(Node::Letter(self.octal()));
        }
        if letter == Some('k') && (self.unicode || self.has_names) {
            self.next();
            return Err(self.back_reference(start));
        }
        Ok(match self.escape(start, false)? {
            Escape::Letter(letter) => Node::Letter(letter),
            Escape::Item(item) => Node::Class(Class::of(item)),
            Escape::Half(high) if self.peek() == Some('[') => Node::Class(self.pairs(high, start)?),
            Escape::Half(high) => Node::Letter(self.pair(high, start)?),
        })
    }

    /// The characters whose first half is an escape, and whose other half is in a class: `\uDB40[\uDC00-\uDC7F]`.
    fn pairs(&mut self, high: u32, start: usize) -> Parsed<Class> {
        let mut class = Class::default();
        self.eat("[");
        while !self.eat("]") {
            let at = self.at();
            let first = self.class_atom(at)?;
            let last = if self.eat("-") { self.class_atom(at)? } else { first.clone() };
            let whole = |half| match half {
                Escape::Half(low) => joined(high, low),
                _ => None,
            };
            match (whole(first), whole(last)) {
                (Some(first), Some(last)) if first <= last => class.items.push(ClassItem::Range(first, last)),
                _ => return Err(self.half(start)),
            }
        }
        Ok(class)
    }

    fn back_reference(&mut self, start: usize) -> PatternError {
        self.error(PatternErrorKind::BackReference, start, "back-references are not part of RE2")
    }

    /// The character whose first half is an escape, where the other half follows.
    fn pair(&mut self, high: u32, start: usize) -> Parsed<char> {
        let low = if self.eat("\\") { self.escape(start, false)? } else { Escape::Half(0) };
        match low {
            Escape::Half(low) => joined(high, low).ok_or_else(|| self.half(start)),
            _ => Err(self.half(start)),
        }
    }

    fn octal(&mut self) -> char {
        let mut value = 0;
        for _ in 0..3 {
            let digit = self.peek().and_then(|digit| digit.to_digit(8));
            match digit.filter(|digit| value * 8 + digit < 256) {
                Some(digit) => value = value * 8 + digit,
                None => break,
            }
            self.next();
        }
        char::from_u32(value).unwrap_or_default()
    }

    /// Reads an escape; its backslash is read already.
    fn escape(&mut self, start: usize, in_class: bool) -> Parsed<Escape> {
        let Some(letter) = self.next() else {
            return Err(self.invalid(start, "a backslash ends the pattern"));
        };
        let negated = letter.is_ascii_uppercase();
        Ok(Escape::Letter(match letter {
            'd' | 'D' => return Ok(Escape::Item(ClassItem::Digit { negated })),
            'w' | 'W' => return Ok(Escape::Item(ClassItem::Word { negated })),
            's' | 'S' => return Ok(Escape::Item(ClassItem::Space { negated })),
            'p' | 'P' if self.unicode => return self.property(start, negated),
            't' => '\t',
            'n' => '\n',
            'v' => '\u{B}',
            'f' => '\u{C}',
            'r' => '\r',
            'b' if in_class => '\u{8}',
            'c' => match self.peek().filter(char::is_ascii_alphabetic) {
                Some(control) => {
                    self.next();
                    char::from(control as u8 % 32)
                }
                None => return Err(self.invalid(start, "`\\c` needs a letter")),
            },
            'x' => match self.hexadecimal(2) {
                Some(value) => char::from_u32(value).unwrap_or_default(),
                None if self.unicode => return Err(self.invalid(start, "`\\x` needs two hexadecimal digits")),
                None => 'x',
            },
            'u' => return self.unicode_escape(start),
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => '\0',
            '0'..='7' if !self.unicode => {
                let first = letter.to_digit(8).unwrap_or_default();
                let mut value = first;
                for _ in 0..2 {
                    let digit = self.peek().and_then(|digit| digit.to_digit(8));
                    let Some(digit) = digit.filter(|digit| value * 8 + digit < 256) else { break };
                    value = value * 8 + digit;
                    self.next();
                }
                char::from_u32(value).unwrap_or_default()
            }
            letter if self.unicode => {
                let is_syntax = "^$\\.*+?()[]{}|/".contains(letter) || (in_class && letter == '-');
                if !is_syntax {
                    return Err(self.invalid(start, "with the flag `u` there is no such escape"));
                }
                letter
            }
            letter => letter,
        }))
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        let at = self.at();
        let text = self.pattern.get(at..at + digits)?;
        if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        self.eat(text);
        u32::from_str_radix(text, 16).ok()
    }

    fn unicode_escape(&mut self, start: usize) -> Parsed<Escape> {
        let value = if self.unicode && self.eat("{") {
            let at = self.at();
            let digits = self.pattern[at..].split_once('}').map_or("", |(digits, _)| digits);
            let value = u32::from_str_radix(digits, 16).ok().filter(|_| self.eat(digits) && self.eat("}"));
            value.filter(|value| *value <= 0x10_FFFF)
        } else {
            match self.hexadecimal(4) {
                None if !self.unicode => return Ok(Escape::Letter('u')),
                value => value,
            }
        };
        match value {
            None => Err(self.invalid(start, "`\\u` needs four hexadecimal digits, or any number in braces")),
            Some(value) => Ok(char::from_u32(value).map_or(Escape::Half(value), Escape::Letter)),
        }
    }

    fn property(&mut self, start: usize, negated: bool) -> Parsed<Escape> {
        let at = self.at();
        let inside = self.pattern[at..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let Some((inside, _)) = inside else {
            return Err(self.invalid(start, "a Unicode class needs a name in braces"));
        };
        let name = inside.rsplit_once('=').map_or(inside, |(_, name)| name).to_owned();
        self.eat("{");
        self.eat(inside);
        self.eat("}");
        Ok(Escape::Item(ClassItem::Group { name, negated }))
    }

    fn class(&mut self, start: usize) -> Parsed<Class> {
        let mut class = Class { negated: self.eat("^"), items: Vec::new() };
        while !self.eat("]") {
            let at = self.at();
            if at == self.pattern.len() {
                return Err(self.invalid(start, "this bracket is never closed"));
            }
            let first = self.class_atom(at)?;
            let mut ahead = self.letters.clone();
            let is_range = ahead.next().is_some_and(|(_, dash)| dash == '-')
                && ahead.peek().is_some_and(|(_, letter)| *letter != ']');
            if !is_range {
                class.items.push(self.class_item(first, at)?);
                continue;
            }
            self.next();
            let last_at = self.at();
            let last = self.class_atom(last_at)?;
            match (&first, &last) {
                (Escape::Letter(first), Escape::Letter(last)) if first <= last => {
                    class.items.push(ClassItem::Range(self.whole(*first, at)?, self.whole(*last, at)?));
                }
                (Escape::Letter(_), Escape::Letter(_)) => {
                    return Err(self.invalid(at, "this range ends before it begins"));
                }
                (Escape::Half(_), _) | (_, Escape::Half(_)) => return Err(self.half(at)),
                _ if self.unicode => return Err(self.invalid(at, "a class cannot be the end of a range")),
                // Annex B: the dash is a character.
                _ => {
                    let (first, last) = (self.class_item(first, at)?, self.class_item(last, last_at)?);
                    class.items.extend([first, ClassItem::Range('-', '-'), last]);
                }
            }
        }
        Ok(class)
    }

    fn class_atom(&mut self, at: usize) -> Parsed<Escape> {
        match self.next() {
            Some('\\') => self.escape(at, true),
            Some(letter) => Ok(Escape::Letter(letter)),
            None => Err(self.invalid(at, "this bracket is never closed")),
        }
    }

    fn class_item(&mut self, escape: Escape, at: usize) -> Parsed<ClassItem> {
        match escape {
            Escape::Item(item) => Ok(item),
            Escape::Letter(letter) => {
                let letter = self.whole(letter, at)?;
                Ok(ClassItem::Range(letter, letter))
            }
            Escape::Half(_) => Err(self.half(at)),
        }
    }

    /// A character of a class: without the flag `u`, a class holds code units, and one beyond U+FFFF has two.
    fn whole(&mut self, letter: char, at: usize) -> Parsed<char> {
        if letter > '\u{FFFF}' && !self.unicode { Err(self.half(at)) } else { Ok(letter) }
    }
}

//! Walks over the JSON of a message as it was on the wire, or over what was read of it, and looks at every text once.

use std::str;

use memchr::{memchr, memchr2};
use serde_json::Value;
use sortie_expr::json;

use super::look::{Look, TextKind};

/// How deep JSON is read here.
const MAX_DEPTH: u32 = 100;

/// The JSON is such that a reader has to say what it means.
#[derive(Debug)]
pub(super) struct NotPlain;

impl Look<'_> {
    /// Looks at JSON.
    pub(super) fn wire(&mut self, json: &str) -> Result<(), NotPlain> {
        let mut wire = Wire { look: self, json, at: 0, decoded: String::new() };
        wire.skip_space();
        wire.value(Some(0), 0)
    }

    /// Looks at a value that was read.
    pub(super) fn value(&mut self, value: &Value) {
        self.visit(Some(0), value);
    }

    // Recursion is bounded: readers of JSON stop at 128 levels.
    fn visit(&mut self, node: Option<u32>, value: &Value) {
        let is_below = self.enter(node);
        match value {
            Value::String(text) => self.text(node, text),
            Value::Object(members) => {
                for (name, value) in members {
                    if self.looks_at_names() {
                        self.look(TextKind::Name, name);
                    }
                    self.visit(self.field(node, name), value);
                }
            }
            Value::Array(items) => {
                let node = self.items(node);
                for item in items {
                    self.visit(node, item);
                }
            }
            _ => {}
        }
        if is_below {
            self.scan.below.pop();
        }
        if let Some(node) = node.filter(|node| !value.is_string() && self.has_patterns(*node)) {
            self.look(TextKind::Json(node), &json::as_text(value));
        }
    }

    fn text(&mut self, node: Option<u32>, text: &str) {
        if self.is_looked_at(node) {
            self.look(TextKind::Text(node), text);
        }
    }

    fn is_looked_at(&self, node: Option<u32>) -> bool {
        self.looks_at_any() || node.is_some_and(|node| self.has_patterns(node))
    }

    /// Asks those that want something to be here; whether all texts below count now.
    fn enter(&mut self, node: Option<u32>) -> bool {
        let Some(node) = node else { return false };
        self.candidates.extend(&self.texts.tree.node(node as usize).here);
        let looks_below = self.looks_below(node);
        if looks_below {
            self.scan.below.push(node);
        }
        looks_below
    }

    fn field(&self, node: Option<u32>, name: &str) -> Option<u32> {
        let next = self.texts.tree.node(node? as usize).field(name)?;
        u32::try_from(next).ok()
    }

    fn items(&self, node: Option<u32>) -> Option<u32> {
        u32::try_from(self.texts.tree.node(node? as usize).items?).ok()
    }
}

struct Wire<'w, 'l> {
    look: &'w mut Look<'l>,
    json: &'w str,
    at: usize,
    /// The last text that had to be decoded.
    decoded: String,
}

impl Wire<'_, '_> {
    fn byte(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    /// What stands between two values, or after the last.
    fn take(&mut self, expected: u8) -> bool {
        self.skip_space();
        let is_there = self.byte() == Some(expected);
        if is_there {
            self.at += 1;
            self.skip_space();
        }
        is_there
    }

    // Recursion is bounded by `MAX_DEPTH`.
    fn value(&mut self, node: Option<u32>, depth: u32) -> Result<(), NotPlain> {
        if depth > MAX_DEPTH {
            return Err(NotPlain);
        }
        let start = self.at;
        let first = self.byte().ok_or(NotPlain)?;
        let is_below = self.look.enter(node);
        match first {
            b'"' => {
                let (text, is_escaped) = self.string()?;
                if self.look.is_looked_at(node) {
                    self.text(TextKind::Text(node), text, is_escaped)?;
                }
            }
            b'{' => {
                self.at += 1;
                self.skip_space();
                while self.byte() == Some(b'"') {
                    let (name, is_escaped) = self.string()?;
                    if is_escaped {
                        return Err(NotPlain);
                    }
                    if self.look.looks_at_names() {
                        self.look.look(TextKind::Name, &self.json[name.0..name.1]);
                    }
                    let field = self.look.field(node, &self.json[name.0..name.1]);
                    if !self.take(b':') {
                        return Err(NotPlain);
                    }
                    self.value(field, depth + 1)?;
                    self.take(b',');
                }
                self.end(b'}')?;
            }
            b'[' => {
                self.at += 1;
                self.skip_space();
                let items = self.look.items(node);
                while self.byte().is_some_and(|byte| byte != b']') {
                    self.value(items, depth + 1)?;
                    self.take(b',');
                }
                self.end(b']')?;
            }
            _ => {
                let rest = &self.json.as_bytes()[self.at..];
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                let length = rest.iter().position(is_end).unwrap_or(rest.len());
                if length == 0 {
                    return Err(NotPlain);
                }
                self.at += length;
            }
        }
        if is_below {
            self.look.scan.below.pop();
        }
        if let Some(node) = node.filter(|node| first != b'"' && self.look.has_patterns(*node)) {
            let value: Value = serde_json::from_str(&self.json[start..self.at]).map_err(|_| NotPlain)?;
            self.look.look(TextKind::Json(node), &json::as_text(&value));
        }
        Ok(())
    }

    fn end(&mut self, expected: u8) -> Result<(), NotPlain> {
        self.skip_space();
        if self.byte() != Some(expected) {
            return Err(NotPlain);
        }
        self.at += 1;
        Ok(())
    }

    /// Where the string here begins and ends, without its quotes, and whether something in it is escaped.
    fn string(&mut self) -> Result<((usize, usize), bool), NotPlain> {
        let bytes = self.json.as_bytes();
        let start = self.at + 1;
        let (mut at, mut is_escaped) = (start, false);
        loop {
            let rest = bytes.get(at..).ok_or(NotPlain)?;
            at += memchr2(b'"', b'\\', rest).ok_or(NotPlain)?;
            if bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(((start, at), is_escaped));
            }
            is_escaped = true;
            at += 2;
        }
    }

    fn text(&mut self, kind: TextKind, text: (usize, usize), is_escaped: bool) -> Result<(), NotPlain> {
        let text = &self.json[text.0..text.1];
        if is_escaped {
            decode(text, &mut self.decoded).ok_or(NotPlain)?;
            self.look.look(kind, &self.decoded);
        } else {
            self.look.look(kind, text);
        }
        Ok(())
    }
}

/// The text of a JSON string; `None` where it is half a character, which readers disagree about.
fn decode(mut json: &str, text: &mut String) -> Option<()> {
    text.clear();
    while let Some(at) = memchr(b'\\', json.as_bytes()) {
        text.push_str(&json[..at]);
        let mut length = 2;
        text.push(match json.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let unit = |at: usize| u32::from_str_radix(json.get(at..at + 4)?, 16).ok();
                let first = unit(at + 2)?;
                length = 6;
                if (0xd800..0xdc00).contains(&first) {
                    let second = unit(at + 8).filter(|second| (0xdc00..0xe000).contains(second))?;
                    if json.get(at + 6..at + 8)? != "\\u" {
                        return None;
                    }
                    length = 12;
                    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?
                } else {
                    char::from_u32(first)?
                }
            }
            other => char::from(*other),
        });
        json = json.get(at + length..)?;
    }
    text.push_str(json);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_decoded_as_readers_do(text in "[a\"\\\\/\n\u{8}\u{1}é😀]{0,20}", ascii in any::<bool>()) {
            let mut json = serde_json::to_string(&text).unwrap();
            if ascii {
                json = json.replace('é', "\\u00E9").replace('😀', "\\uD83D\\uDE00");
            }
            let mut decoded = String::new();
            prop_assert!(decode(&json[1..json.len() - 1], &mut decoded).is_some());
            prop_assert_eq!(decoded, text);
        }
    }

    #[test]
    fn half_a_character_is_left_to_readers() {
        for json in [r"\ud83d", r"\ud83d\u0041", r"\ude00", r"\u12", r"\ud83dx\ude00"] {
            assert!(decode(json, &mut String::new()).is_none(), "{json}");
        }
    }
}

//! JSON as text: its tokens, in place.
//!
//! What is stored is what was on the wire, so it is edited and laid out as text, and never goes through a value that
//! would forget duplicate keys, the digits of a number or the way a letter was escaped. Nothing here recurses: nesting
//! is as deep as the peer likes. The text is known to be JSON; when it is not, tokens come out all the same.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// A part of a JSON text. Punctuation is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    OpenObject,
    OpenArray,
    /// `}` or `]`
    Close,
    /// The name of a member, with its quotes.
    Key,
    /// A string, with its quotes.
    String,
    Number,
    /// `true`, `false` or `null`.
    Word,
}

/// The tokens of a JSON text, with their places.
pub(crate) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    /// Whether each open container is an object.
    open: Vec<bool>,
    key: bool,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0, open: Vec::new(), key: false }
    }

    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Goes on behind the container that was opened last, and gives the place behind it.
    pub(crate) fn skip_container(&mut self) -> usize {
        let depth = self.depth();
        while self.depth() >= depth && self.next().is_some() {}
        self.at
    }

    fn end_of_string(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            if bytes[at + found] == b'"' {
                return at + found + 1;
            }
            at += found + 2;
        }
        bytes.len()
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let (token, end) = match bytes.get(start)? {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                b':' => {
                    self.key = false;
                    self.at += 1;
                    continue;
                }
                b',' => {
                    self.key = self.open.last() == Some(&true);
                    self.at += 1;
                    continue;
                }
                opening @ (b'{' | b'[') => {
                    let object = *opening == b'{';
                    self.open.push(object);
                    self.key = object;
                    (if object { Token::OpenObject } else { Token::OpenArray }, start + 1)
                }
                b'}' | b']' => {
                    self.open.pop();
                    self.key = false;
                    (Token::Close, start + 1)
                }
                b'"' => (if self.key { Token::Key } else { Token::String }, self.end_of_string(start)),
                first => {
                    let scalar =
                        |byte: &u8| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                    let length = bytes[start..].iter().take_while(|byte| scalar(byte)).count();
                    let number = *first == b'-' || first.is_ascii_digit();
                    (if number { Token::Number } else { Token::Word }, start + length)
                }
            };
            self.at = end;
            return Some((token, start..end));
        }
    }
}

/// Where the text of a string is, without its quotes.
pub(crate) fn inside(string: &Range<usize>) -> Range<usize> {
    string.start + 1..string.end.max(string.start + 2) - 1
}

/// A run of a string: as it is, or one escaped character.
enum Run<'t> {
    Plain(&'t str),
    /// The character, how long its escape is, and whether it is half of one (a lone surrogate).
    Escape(char, usize, bool),
}

struct Runs<'t>(&'t str);

impl<'t> Iterator for Runs<'t> {
    type Item = Run<'t>;

    fn next(&mut self) -> Option<Run<'t>> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        if !text.starts_with('\\') {
            let (plain, rest) = text.split_at(memchr::memchr(b'\\', text.as_bytes()).unwrap_or(text.len()));
            self.0 = rest;
            return Some(Run::Plain(plain));
        }
        let (letter, length, half) = escape(text);
        self.0 = text.get(length..).unwrap_or_default();
        Some(Run::Escape(letter, length, half))
    }
}

/// The character of the escape that a text begins with, its length, and whether it is a lone surrogate.
fn escape(text: &str) -> (char, usize, bool) {
    let letter = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode(text),
        // `\"`, `\\`, `\/`; anything else is not JSON, and stands for itself.
        Some(_) => text[1..].chars().next().unwrap_or('\\'),
        None => return ('\\', 1, false),
    };
    (letter, 1 + text[1..].chars().next().map_or(0, char::len_utf8), false)
}

fn unicode(text: &str) -> (char, usize, bool) {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let Some(first) = unit(0) else { return ('u', 2, false) };
    if let (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) = (first, unit(6)) {
        let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), 12, false);
    }
    char::from_u32(first).map_or((char::REPLACEMENT_CHARACTER, 6, true), |letter| (letter, 6, false))
}

/// What the text of a string says. Half a character becomes U+FFFD.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for run in Runs(text) {
        match run {
            Run::Plain(plain) => out.push_str(plain),
            Run::Escape(letter, ..) => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// The places in the text of a string that correspond to places in what it says. They are in order, and between
/// characters. A second walk, so that a string of nothing but escapes needs no table of them.
pub(crate) fn places(text: &str, decoded: &[usize]) -> Vec<usize> {
    let mut places = Vec::with_capacity(decoded.len());
    let mut wanted = decoded.iter().copied().peekable();
    let (mut raw, mut said) = (0, 0);
    for run in Runs(text) {
        let (raw_length, said_length, plain) = match run {
            Run::Plain(plain) => (plain.len(), plain.len(), true),
            Run::Escape(letter, length, _) => (length, letter.len_utf8(), false),
        };
        while let Some(place) = wanted.next_if(|place| *place < said + said_length) {
            places.push(if plain { raw + (place - said) } else { raw });
        }
        raw += raw_length;
        said += said_length;
    }
    places.extend(wanted.map(|_| raw));
    places
}

pub(crate) struct Edits<'t> {
    text: &'t str,
    edits: Vec<(Range<usize>, Cow<'static, str>)>,
}

impl<'t> Edits<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, edits: Vec::new() }
    }

    pub(crate) fn replace(&mut self, range: Range<usize>, with: impl Into<Cow<'static, str>>) {
        self.edits.push((range, with.into()));
    }

    /// The text with the edits, if there are any. Of edits that overlap, the one that begins first and reaches
    /// furthest is made.
    pub(crate) fn finish(mut self) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        self.edits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut out = String::with_capacity(self.text.len());
        let mut copied = 0;
        for (range, with) in &self.edits {
            if range.start < copied {
                continue;
            }
            out.push_str(&self.text[copied..range.start]);
            out.push_str(with);
            copied = range.end;
        }
        out.push_str(&self.text[copied..]);
        Some(out)
    }
}

/// How deep what indicators see may be nested: below what `serde_json` reads, with room for what is added around it.
const MAX_DEPTH: usize = 120;

/// JSON that a value can hold: what cannot be is replaced by the nearest thing that says the same.
///
/// A hostile peer could otherwise hide a whole message behind one odd character. Half a character becomes U+FFFD, a
/// number beyond all bounds its text, and what is nested too deep the text of it.
pub(crate) fn readable(text: &str) -> Option<String> {
    let mut edits = Edits::new(text);
    let mut tokens = Tokens::new(text);
    while let Some((token, range)) = tokens.next() {
        match token {
            Token::Key | Token::String => {
                let mut at = range.start + 1;
                for run in Runs(text.get(inside(&range)).unwrap_or_default()) {
                    match run {
                        Run::Plain(plain) => at += plain.len(),
                        Run::Escape(_, length, half) => {
                            if half {
                                edits.replace(at..at + length, "\\ufffd");
                            }
                            at += length;
                        }
                    }
                }
            }
            Token::Number if text[range.clone()].parse().is_ok_and(f64::is_infinite) => {
                let quoted = format!("\"{}\"", &text[range.clone()]);
                edits.replace(range, quoted);
            }
            Token::OpenObject | Token::OpenArray if tokens.depth() > MAX_DEPTH => {
                let end = tokens.skip_container();
                edits.replace(range.start..end, quoted(&text[range.start..end]));
            }
            _ => {}
        }
    }
    edits.finish()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How many levels are indented; the rest stands below the last of them. A peer chooses the nesting, and the width
/// of the margins would grow with its square.
const INDENTED_LEVELS: usize = 64;

/// A JSON text laid out over lines, every token as it was.
pub(crate) fn pretty(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut tokens = Tokens::new(text);
    let mut after = None;
    while let Some((token, range)) = tokens.next() {
        let depth = tokens.depth();
        let opened = matches!(after, Some(Token::OpenObject | Token::OpenArray));
        match (token, after) {
            (_, None) => {}
            (_, Some(Token::Key)) => out.push_str(": "),
            (Token::Close, _) if opened => {}
            (Token::Close, _) => line(&mut out, depth),
            (opening, _) => {
                if !opened {
                    out.push(',');
                }
                let within = matches!(opening, Token::OpenObject | Token::OpenArray);
                line(&mut out, depth - usize::from(within && depth > 0));
            }
        }
        out.push_str(&text[range]);
        after = Some(token);
    }
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(INDENTED_LEVELS)));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn tokens(text: &str) -> Vec<(Token, &str)> {
        Tokens::new(text).map(|(token, range)| (token, &text[range])).collect()
    }

    #[test]
    fn every_token_is_found_in_its_place() {
        use Token::{Close, Key, Number, OpenArray, OpenObject, String, Word};
        assert_eq!(
            tokens(r#" {"a\"" : [1, -2.5e3,"x,}", true ] ,"b":{}, "c":null}"#),
            [
                (OpenObject, "{"),
                (Key, r#""a\"""#),
                (OpenArray, "["),
                (Number, "1"),
                (Number, "-2.5e3"),
                (String, r#""x,}""#),
                (Word, "true"),
                (Close, "]"),
                (Key, r#""b""#),
                (OpenObject, "{"),
                (Close, "}"),
                (Key, r#""c""#),
                (Word, "null"),
                (Close, "}"),
            ]
        );
    }

    #[test]
    fn what_is_no_json_ends_too() {
        for text in ["\"", "\"\\", "{\"a", "]]]", "\"\\u00", "[", "é", "{\"a\":\"\\é\\ud800\\u"] {
            for (token, range) in Tokens::new(text) {
                if token == Token::String {
                    let _ = decoded(text.get(inside(&range)).unwrap_or_default());
                }
            }
            let _ = readable(text);
        }
    }

    #[test]
    fn strings_say_what_they_escape() {
        assert_eq!(decoded(r#"a\u0041\n\"\\\/é\ud83e\udd80"#), "aA\n\"\\/é🦀");
        assert_eq!(decoded(r"\ud800x\udc00\uD83E"), "\u{fffd}x\u{fffd}\u{fffd}");
    }

    #[test]
    fn places_in_what_is_said_are_places_in_the_text() {
        let text = r"ab\u0041\ud83e\udd80c\n";
        let said = decoded(text);
        assert_eq!(said, "abA🦀c\n");
        assert_eq!(places(text, &[0, 1, 2, 3, 7, 8, 9]), [0, 1, 2, 8, 20, 21, 23]);
    }

    #[test]
    fn what_a_value_cannot_hold_is_replaced_by_what_says_the_same() {
        let mended = readable(r#"{"k\ud800":"a\udc00b\ud83e\udd80","n":[1e999,-1e999,1]}"#).unwrap();
        assert_eq!(mended, r#"{"k\ufffd":"a\ufffdb\ud83e\udd80","n":["1e999","-1e999",1]}"#);
        assert!(serde_json::from_str::<Value>(&mended).is_ok());
        let deep = format!("{{\"a\":1,\"b\":{}\"secret\"{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(serde_json::from_str::<Value>(&deep).is_err());
        let mended: Value = serde_json::from_str(&readable(&deep).unwrap()).unwrap();
        assert_eq!(mended["a"], 1);
        assert!(mended.to_string().contains("secret"));
        assert_eq!(readable(r#"{"a":[1,"\ud83e\udd80"]}"#), None);
    }

    #[test]
    fn laid_out_text_has_the_same_tokens() {
        let text = r#"{"a":[1.0,1.00,{}],"a":{"b":[],"c":"\u0041"},"d":[[]]}"#;
        assert_eq!(
            pretty(text),
            "{\n  \"a\": [\n    1.0,\n    1.00,\n    {}\n  ],\n  \"a\": {\n    \"b\": [],\n    \"c\": \"\\u0041\"\n  },\n  \
             \"d\": [\n    []\n  ]\n}"
        );
        assert_eq!(tokens(&pretty(text)), tokens(text));
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(pretty(&deep).len() < 4_000_000);
    }
}

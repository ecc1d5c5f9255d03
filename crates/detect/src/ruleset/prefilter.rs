//! The texts that indicators need, all looked for in one pass over a message as it was on the wire.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use indexmap::IndexMap;
use memchr::memchr2;

/// What is to be asked when one of its texts is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// An indicator.
    Indicator(u32),
    /// Something that a document wants served.
    Wanted(u32),
    /// The task of a document.
    Task(u32),
}

impl Asked {
    /// The indicator, where it is one.
    pub(crate) fn indicator(self) -> Option<u32> {
        if let Self::Indicator(number) = self { Some(number) } else { None }
    }

    /// What is wanted, where it is that.
    pub(crate) fn wanted(self) -> Option<u32> {
        if let Self::Wanted(number) = self { Some(number) } else { None }
    }

    /// The document, where it is a task.
    pub(crate) fn task(self) -> Option<u32> {
        if let Self::Task(number) = self { Some(number) } else { None }
    }
}

/// How much of a text is looked for. More of it makes nothing rarer.
const LONGEST: usize = 12;
/// Shorter texts are everywhere.
const SHORTEST: usize = 3;
/// Up to so many bytes of texts, the fastest automaton is built, which takes the most memory.
const SMALL: usize = 1 << 18;

/// Letters that are `k` and `s` when case does not count, see [`required_texts`](sortie_expr::re2::Regex::required_texts). Where one of
/// them is, anything may be.
const ODD_LETTERS: [&[u8]; 2] = ["\u{212a}".as_bytes(), "\u{17f}".as_bytes()];

/// Collects texts.
#[derive(Debug, Default)]
pub(super) struct PrefilterBuilder {
    texts: IndexMap<Vec<u8>, Vec<Asked>>,
}

impl PrefilterBuilder {
    /// Asks only when one of these texts is there; `false` where they cannot be looked for in what was on the wire.
    pub(super) fn add(&mut self, asked: Asked, texts: &[Vec<u8>]) -> bool {
        let on_wire: Option<Vec<_>> = texts.iter().map(|text| part_on_wire(text)).collect();
        let Some(on_wire) = on_wire.filter(|texts| !texts.is_empty()) else { return false };
        for text in on_wire {
            self.add_text(asked, text.to_ascii_lowercase());
        }
        true
    }

    fn add_text(&mut self, asked: Asked, text: Vec<u8>) {
        let all = self.texts.entry(text).or_default();
        // Two texts may have the same part on the wire.
        if all.last() != Some(&asked) {
            all.push(asked);
        }
    }

    /// Asks only when an object has a member of this name; `false` where the name cannot be looked for in what was on the wire.
    pub(super) fn add_name(&mut self, asked: Asked, name: &str) -> bool {
        let is_same = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_same) {
            return false;
        }
        self.add_text(asked, format!("\"{name}\"").to_ascii_lowercase().into_bytes());
        true
    }

    pub(super) fn build(self) -> Prefilter {
        let bytes: usize = self.texts.keys().map(Vec::len).sum();
        let kind = (bytes <= SMALL).then_some(AhoCorasickKind::DFA);
        let patterns = ODD_LETTERS.iter().copied().chain(self.texts.keys().map(Vec::as_slice));
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(kind)
            .build(patterns);
        Prefilter {
            automaton: automaton.ok(),
            asked: self.texts.into_values().map(Vec::into_boxed_slice).collect(),
        }
    }
}

/// The part of a text that stands in JSON as it stands in the value, and can be nothing but part of one string there: without what is
/// escaped or laid out differently, and no number, since 1.0 and 1e0 are the same.
fn part_on_wire(text: &[u8]) -> Option<&[u8]> {
    let is_same = |byte: &u8| !byte.is_ascii_control() && !b"\"\\{}[]:,".contains(byte);
    let of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let parts = text.split(|byte| !is_same(byte)).map(|part| &part[..part.len().min(LONGEST)]);
    let parts =
        parts.filter(|part| (part.len() >= SHORTEST || !part.is_ascii()) && !part.iter().all(of_number));
    parts.max_by_key(|part| part.len())
}

/// Looks for all texts at once.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// `None` where it would be too large, and everything is asked always.
    automaton: Option<AhoCorasick>,
    /// For each text.
    asked: Vec<Box<[Asked]>>,
}

/// What is to be asked about a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hits {
    /// Everything, since not everything could be looked for.
    pub(crate) everything: bool,
    pub(crate) asked: Vec<Asked>,
    /// Which texts were found already.
    found: Vec<bool>,
    texts: Vec<usize>,
}

impl Hits {
    pub(crate) fn clear(&mut self) {
        self.everything = false;
        self.asked.clear();
        for text in self.texts.drain(..) {
            self.found[text] = false;
        }
    }
}

impl Prefilter {
    /// Adds what is to be asked about a JSON text.
    pub(crate) fn look(&self, json: &str, hits: &mut Hits) {
        let Some(automaton) = self.automaton.as_ref().filter(|_| !hits.everything) else {
            hits.everything = true;
            return;
        };
        hits.found.resize(self.asked.len(), false);
        for found in automaton.find_overlapping_iter(json) {
            let Some(text) = found.pattern().as_usize().checked_sub(ODD_LETTERS.len()) else {
                hits.everything = true;
                return;
            };
            if !std::mem::replace(&mut hits.found[text], true) {
                hits.texts.push(text);
                hits.asked.extend(&self.asked[text]);
            }
        }
    }
}

/// How deep readers of JSON go, and how many digits a number may have that surely is one.
const MAX_DEPTH: u32 = 120;
const MAX_DIGITS: usize = 300;

/// Whether the texts of a JSON text stand there as they are in its values, but for what [`part_on_wire`] leaves out, and every reader
/// reads it: without `\u` and `\/`, exponents, and nesting without end.
pub(crate) fn is_plain(json: &str) -> bool {
    let bytes = json.as_bytes();
    let (mut at, mut depth) = (0, 0u32);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => match end_of_string(bytes, at) {
                Some(end) => at = end,
                None => return false,
            },
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'0'..=b'9' => {
                let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                at += digits;
                if digits > MAX_DIGITS || matches!(bytes.get(at), Some(b'e' | b'E')) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Where a plain string ends that begins here.
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        if matches!(bytes.get(at + 1), Some(b'u' | b'/')) {
            return None;
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(texts: &[&[&str]], json: &str) -> Option<Vec<Asked>> {
        let mut builder = PrefilterBuilder::default();
        for (number, texts) in (0..).zip(texts) {
            let texts: Vec<_> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
            assert!(builder.add(Asked::Indicator(number), &texts));
        }
        let prefilter = builder.build();
        let mut hits = Hits::default();
        prefilter.look(json, &mut hits);
        (!hits.everything).then_some(hits.asked)
    }

    #[test]
    fn one_pass_finds_the_texts_of_all() {
        let texts: &[&[&str]] = &[&["id_rsa", "id_dsa"], &["passwd"], &["rsa key"], &["id_rsa"]];
        let found = |json| asked(texts, json).unwrap();
        let indicator = Asked::Indicator;
        assert_eq!(found(r#"{"path": "/home/ID_RSA"}"#), [indicator(0), indicator(3)]);
        assert_eq!(found(r#"["rsa key", "id_rsa key", "passwd"]"#).len(), 4);
        assert!(found("{}").is_empty());
        // Two letters are ASCII when case does not count, and their bytes are not.
        assert_eq!(asked(texts, "[\"pa\u{17f}\u{17f}wd\"]"), None);
    }

    #[test]
    fn only_what_stands_on_the_wire_as_it_is_can_be_looked_for() {
        let part =
            |text: &'static str| part_on_wire(text.as_bytes()).map(|part| str::from_utf8(part).unwrap());
        assert_eq!(part("https://packages"), Some("//packages"));
        assert_eq!(part("say \"yes, please\""), Some(" please"));
        assert_eq!(part("a\nlonger line"), Some("longer line"));
        for text in ["", "ab", "12.50", "1e10", "[1,2]", "\\\\"] {
            assert_eq!(part(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_is_told() {
        for json in ["{}", r#"{"a": ["b\n\"c\\", 1.50, -3, true]}"#, r#""a\\u""#, "[[[1]]]"] {
            assert!(is_plain(json), "{json}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let digits = "9".repeat(400);
        for json in [r#""\u0041""#, r#""a\/b""#, "1e999", "[2E1]", deep.as_str(), digits.as_str(), "\"open"] {
            assert!(!is_plain(json), "{json}");
        }
    }
}

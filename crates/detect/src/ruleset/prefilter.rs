//! The texts that indicators need, all looked for in one pass over a message as it was on the wire.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use indexmap::IndexMap;
use memchr::{memchr2, memmem};
use serde_json::Value;

use super::u32_of;

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
    texts: IndexMap<Vec<u8>, Vec<TextUse>>,
    clauses: Vec<Clause>,
}

/// Lists of texts: when one of each list is there, something is asked.
#[derive(Clone, Copy, Debug)]
struct Clause {
    asked: Asked,
    /// A bit for each list.
    lists: u8,
}

/// What a text is for: a list of a clause.
#[derive(Clone, Copy, Debug)]
struct TextUse {
    clause: u32,
    list: u8,
}

/// How many lists of a clause are looked for.
const MOST_LISTS: usize = 8;

impl PrefilterBuilder {
    /// Asks only when one of these texts is there; `false` where they cannot be looked for in what was on the wire.
    pub(super) fn add(&mut self, asked: Asked, texts: &[Vec<u8>]) -> bool {
        self.add_clauses(asked, &[vec![texts.to_vec()]])
    }

    /// Asks only when a text of every list of one of these clauses is there; `false` where they cannot be looked for in what was on the
    /// wire.
    pub(super) fn add_clauses(&mut self, asked: Asked, clauses: &[Vec<Vec<Vec<u8>>>]) -> bool {
        let on_wire = |texts: &Vec<Vec<u8>>| -> Option<Vec<Vec<u8>>> {
            texts.iter().map(|text| part_on_wire(text).map(<[u8]>::to_ascii_lowercase)).collect()
        };
        let clauses: Vec<Vec<_>> =
            clauses.iter().map(|lists| lists.iter().filter_map(on_wire).take(MOST_LISTS).collect()).collect();
        if clauses.iter().any(Vec::is_empty) {
            return false;
        }
        for lists in clauses {
            self.add_lists(asked, lists);
        }
        true
    }

    fn add_lists(&mut self, asked: Asked, lists: Vec<Vec<Vec<u8>>>) {
        let clause = u32_of(self.clauses.len());
        let mut all = 0;
        for (number, texts) in lists.into_iter().enumerate() {
            let list = 1 << number;
            all |= list;
            for text in texts {
                let uses = self.texts.entry(text).or_default();
                // Two texts may have the same part on the wire.
                if !uses.last().is_some_and(|last| last.clause == clause && last.list == list) {
                    uses.push(TextUse { clause, list });
                }
            }
        }
        self.clauses.push(Clause { asked, lists: all });
    }

    /// Asks only when an object has a member of this name; `false` where the name cannot be looked for in what was on the wire.
    pub(super) fn add_name(&mut self, asked: Asked, name: &str) -> bool {
        let is_same = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_same) {
            return false;
        }
        self.add_lists(asked, vec![vec![format!("\"{name}\"").to_ascii_lowercase().into_bytes()]]);
        true
    }

    /// Those of some indicators alone.
    pub(super) fn of_indicators(&self, is_wanted: impl Fn(u32) -> bool) -> Prefilter {
        let mut numbers = vec![None; self.clauses.len()];
        let mut own = Self::default();
        for (number, clause) in numbers.iter_mut().zip(&self.clauses) {
            if clause.asked.indicator().is_some_and(&is_wanted) {
                *number = Some(u32_of(own.clauses.len()));
                own.clauses.push(*clause);
            }
        }
        for (text, uses) in &self.texts {
            let uses = uses.iter().filter_map(|TextUse { clause, list }| {
                Some(TextUse { clause: numbers[*clause as usize]?, list: *list })
            });
            let uses: Vec<_> = uses.collect();
            if !uses.is_empty() {
                own.texts.insert(text.clone(), uses);
            }
        }
        own.build()
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
        let has_odd_letters =
            |text: &Vec<u8>| ODD_LETTERS.iter().any(|odd| memmem::find(text, odd).is_some());
        let has_odd_letters = self.texts.keys().any(has_odd_letters);
        Prefilter {
            automaton: automaton.ok(),
            uses: self.texts.into_values().map(Vec::into_boxed_slice).collect(),
            clauses: self.clauses,
            has_odd_letters,
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
    uses: Vec<Box<[TextUse]>>,
    clauses: Vec<Clause>,
    /// Whether one of the texts has a letter that is another when case does not count.
    has_odd_letters: bool,
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
    /// Of each clause, the lists of which a text was found.
    lists: Vec<u8>,
    touched: Vec<u32>,
}

impl Hits {
    /// The indicators that are to be asked, some of them more than once.
    pub(crate) fn indicators(&self) -> impl Iterator<Item = u32> {
        self.asked.iter().filter_map(|asked| asked.indicator())
    }

    pub(crate) fn clear(&mut self) {
        self.everything = false;
        self.asked.clear();
        for text in self.texts.drain(..) {
            self.found[text] = false;
        }
        for clause in self.touched.drain(..) {
            self.lists[clause as usize] = 0;
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
        self.prepare(hits);
        for found in automaton.find_overlapping_iter(json) {
            let Some(text) = found.pattern().as_usize().checked_sub(ODD_LETTERS.len()) else {
                hits.everything = true;
                return;
            };
            self.hit(text, hits);
        }
    }

    /// The same for a value that was read already, whatever letters it has.
    pub(crate) fn look_value(&self, value: &Value, hits: &mut Hits) {
        let json = value.to_string();
        let Some(automaton) = self.automaton.as_ref().filter(|_| !hits.everything) else {
            hits.everything = true;
            return;
        };
        self.prepare(hits);
        let mut is_odd = false;
        for found in automaton.find_overlapping_iter(&json) {
            match found.pattern().as_usize().checked_sub(ODD_LETTERS.len()) {
                Some(text) => self.hit(text, hits),
                None => is_odd = true,
            }
        }
        if is_odd {
            hits.everything = self.has_odd_letters;
            let json = json.replace('\u{212a}', "k").replace('\u{17f}', "s");
            self.look(&json, hits);
        }
    }

    fn prepare(&self, hits: &mut Hits) {
        hits.found.resize(self.uses.len(), false);
        hits.lists.resize(self.clauses.len(), 0);
    }

    fn hit(&self, text: usize, hits: &mut Hits) {
        if std::mem::replace(&mut hits.found[text], true) {
            return;
        }
        hits.texts.push(text);
        for TextUse { clause, list } in &self.uses[text] {
            let about = self.clauses[*clause as usize];
            let lists = &mut hits.lists[*clause as usize];
            if *lists == 0 {
                hits.touched.push(*clause);
            }
            if *lists != about.lists && (*lists | list) == about.lists {
                hits.asked.push(about.asked);
            }
            *lists |= list;
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

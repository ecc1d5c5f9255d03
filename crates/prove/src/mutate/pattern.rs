//! Regular expressions that are nearly another one.
//!
//! A pattern is cut into the pieces that RE2 sees (characters, classes, groups, anchors, repeats) without being
//! understood any further. It has been validated, so every bracket closes.

use std::ops::Range;

use sortie_expr::re2::Regex;

use super::Operator;
use super::text::{has_case, quoted};

/// Another pattern, and what became of the first.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) operator: Operator,
    pub(super) pattern: String,
    /// What was done to it, in words that follow "with".
    pub(super) change: String,
    /// What a text must be like on which the two differ, in words that follow "a text".
    pub(super) telling: String,
}

/// Every pattern that is nearly this one, each of them RE2.
pub(super) fn variants(pattern: &str) -> Vec<Variant> {
    let mut variants =
        Variants { pattern, shown: quoted(pattern), pieces: Pieces::of(pattern), found: Vec::new() };
    variants.alternatives();
    variants.anchors();
    variants.letters();
    variants.ends();
    variants.repeats();
    let shown = &variants.shown;
    let (change, telling) =
        (format!("{shown} as the whole text"), format!("in which {shown} matches a part, and not all"));
    variants.add(Operator::Narrow, format!(r"\A(?:{pattern})\z"), change, telling);
    let Variants { mut found, .. } = variants;
    found.retain(|variant| variant.pattern != pattern && Regex::new(&variant.pattern).is_ok());
    found
}

struct Variants<'p> {
    pattern: &'p str,
    /// The pattern, as a report quotes it.
    shown: String,
    pieces: Pieces,
    found: Vec<Variant>,
}

impl Variants<'_> {
    fn add(&mut self, operator: Operator, pattern: String, change: String, telling: String) {
        self.found.push(Variant { operator, pattern, change, telling });
    }

    /// Adds a pattern that matches more. `how` follows the pattern that it is made of.
    fn widen(&mut self, wider: String, how: &str) {
        let telling = format!("which {} matches, and {} does not", quoted(&wider), self.shown);
        self.add(Operator::Widen, wider, format!("{} {how}", self.shown), telling);
    }

    fn without(&self, cut: &Range<usize>) -> String {
        format!("{}{}", &self.pattern[..cut.start], &self.pattern[cut.end..])
    }

    fn quoted(&self, piece: &Range<usize>) -> String {
        quoted(&self.pattern[piece.clone()])
    }

    fn alternatives(&mut self) {
        let groups = self.pieces.groups.clone();
        for branches in groups.iter().filter(|branches| branches.len() > 1) {
            for (index, branch) in branches.iter().enumerate() {
                // With the bar before it, or, for the first, the one behind it.
                let cut =
                    if index == 0 { branch.start..branch.end + 1 } else { branch.start - 1..branch.end };
                let dropped = self.quoted(branch);
                let change = format!("{} without the alternative {dropped}", self.shown);
                let telling = format!("which matches by the alternative {dropped} and by no other");
                self.add(Operator::DropAlternative, self.without(&cut), change, telling);
            }
        }
    }

    fn anchors(&mut self) {
        for anchor in self.pieces.anchors.clone() {
            self.widen(self.without(&anchor), &format!("without {}", self.quoted(&anchor)));
        }
    }

    /// `(?i)` put before it, or taken away.
    fn letters(&mut self) {
        if let Some(strict) = self.pattern.strip_prefix("(?i)") {
            if has_case(strict) {
                let shown = quoted(strict);
                let telling = format!("which matches {shown} in other letters than these");
                self.add(
                    Operator::Narrow,
                    strict.to_owned(),
                    format!("{shown} in these letters only"),
                    telling,
                );
            }
        } else if has_case(self.pattern) && !self.pattern.starts_with("(?") {
            let change = format!("{} in upper or lower case", self.shown);
            let telling = format!("which matches {} in other letters, and not in these", self.shown);
            self.add(Operator::Widen, format!("(?i){}", self.pattern), change, telling);
        }
    }

    /// The first and the last piece left out, where all of it is one alternative.
    fn ends(&mut self) {
        let Pieces { top, groups, anchors, .. } = &self.pieces;
        let [first, .., last] = top.as_slice() else { return };
        if groups.first().is_some_and(|branches| branches.len() > 1) {
            return;
        }
        // Behind an anchor, what comes next would have to stand where the piece stood: that is another text, not a shorter.
        let held_before = anchors.iter().any(|anchor| anchor.end <= first.start);
        let held_after = anchors.iter().any(|anchor| anchor.start >= last.end);
        for (end, piece, is_held) in
            [("first", first.clone(), held_before), ("last", last.clone(), held_after)]
        {
            let shorter = self.without(&piece);
            if !is_held && matches_something(&shorter) {
                self.widen(shorter, &format!("without its {end} piece, {}", self.quoted(&piece)));
            }
        }
    }

    /// A repeat that must happen becomes one that may.
    fn repeats(&mut self) {
        let must = |repeat: &&Range<usize>| {
            let text = &self.pattern[(*repeat).clone()];
            text == "+" || text.starts_with('{')
        };
        let Some(repeat) = self.pieces.repeats.iter().find(must).cloned() else { return };
        let looser = format!("{}*{}", &self.pattern[..repeat.start], &self.pattern[repeat.end..]);
        if matches_something(&looser) {
            self.widen(looser, &format!("with `*` for {}", self.quoted(&repeat)));
        }
    }
}

/// What is content with nothing matches everything, which is another mutant.
fn matches_something(pattern: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| !pattern.matches_empty())
}

/// A pattern, cut up.
#[derive(Debug, Default, PartialEq)]
struct Pieces {
    /// The pieces of the top level with their repeats, anchors and flags left out.
    top: Vec<Range<usize>>,
    /// The branches of the whole pattern, then of every group, in the order of their beginnings.
    groups: Vec<Vec<Range<usize>>>,
    anchors: Vec<Range<usize>>,
    repeats: Vec<Range<usize>>,
}

impl Pieces {
    fn of(pattern: &str) -> Self {
        let mut pieces = Self { groups: vec![Vec::new()], ..Self::default() };
        // Groups that are open: which, where it begins, and where its current branch does.
        let mut open: Vec<(usize, usize, usize)> = vec![(0, 0, 0)];
        let mut at = 0;
        while at < pattern.len() {
            let end = at + piece_len(&pattern[at..]);
            let depth = open.len();
            match &pattern[at..end] {
                "|" => {
                    if let Some((group, _, branch)) = open.last_mut() {
                        pieces.groups[*group].push(*branch..at);
                        *branch = end;
                    }
                }
                // Flags hold for all that follows in the group, in its other branches too.
                text if text.starts_with("(?") && text.ends_with(')') => {
                    if let Some((_, _, branch)) = open.last_mut().filter(|(_, _, branch)| *branch == at) {
                        *branch = end;
                    }
                }
                text if text.starts_with('(') => {
                    pieces.groups.push(Vec::new());
                    open.push((pieces.groups.len() - 1, at, end));
                }
                ")" => {
                    if depth > 1
                        && let Some((group, start, branch)) = open.pop()
                    {
                        pieces.groups[group].push(branch..at);
                        if depth == 2 {
                            pieces.top.push(start..end);
                        }
                    }
                }
                "^" | "$" | r"\A" | r"\z" | r"\b" | r"\B" => pieces.anchors.push(at..end),
                text if is_repeat(text) => {
                    pieces.repeats.push(at..end);
                    if let (1, Some(last)) = (depth, pieces.top.last_mut()) {
                        last.end = end;
                    }
                }
                _ if depth == 1 => pieces.top.push(at..end),
                _ => {}
            }
            at = end;
        }
        if let Some((_, _, branch)) = open.first() {
            pieces.groups[0].push(*branch..pattern.len());
        }
        pieces
    }
}

fn is_repeat(text: &str) -> bool {
    matches!(text, "*" | "+" | "?" | "*?" | "+?" | "??") || (text.len() > 1 && text.starts_with('{'))
}

/// How many bytes the first piece has.
fn piece_len(rest: &str) -> usize {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    match rest.as_bytes().first() {
        Some(b'\\') => escape_len(rest),
        Some(b'[') => class_len(rest),
        Some(b'(') => opening_len(rest),
        Some(b'*' | b'+' | b'?') if rest[1..].starts_with('?') => 2,
        Some(b'{') => counted_len(rest).unwrap_or(first),
        _ => first,
    }
}

fn escape_len(rest: &str) -> usize {
    let until = |end: char| rest.find(end).map_or(rest.len(), |at| at + end.len_utf8());
    match rest.as_bytes().get(1) {
        Some(b'p' | b'P' | b'x') if rest[2..].starts_with('{') => until('}'),
        Some(b'p' | b'P') => 3.min(rest.len()),
        Some(b'x') => 4.min(rest.len()),
        Some(b'Q') => rest.find(r"\E").map_or(rest.len(), |at| at + 2),
        Some(_) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        None => 1,
    }
}

/// `]` is a character when it comes first; `[:alpha:]` has one inside.
fn class_len(rest: &str) -> usize {
    let mut at = if rest[1..].starts_with('^') { 2 } else { 1 };
    if rest[at..].starts_with(']') {
        at += 1;
    }
    while at < rest.len() {
        let here = &rest[at..];
        at += match here.as_bytes().first() {
            Some(b']') => return at + 1,
            Some(b'\\') => escape_len(here),
            Some(b'[') if here[1..].starts_with(':') => here.find(":]").map_or(1, |end| end + 2),
            _ => here.chars().next().map_or(1, char::len_utf8),
        };
    }
    rest.len()
}

/// `(`, `(?:`, `(?i:`, `(?P<name>`; `(?i)` whole.
fn opening_len(rest: &str) -> usize {
    if !rest.starts_with("(?") {
        return 1;
    }
    if rest.starts_with("(?P<") || rest.starts_with("(?<") {
        return rest.find('>').map_or(1, |at| at + 1);
    }
    rest.find([':', ')']).map_or(1, |at| at + 1)
}

/// `{2}`, `{2,}`, `{2,5}` and their lazy forms; braces that count nothing are characters.
fn counted_len(rest: &str) -> Option<usize> {
    let close = rest.find('}')?;
    let (least, most) = rest[1..close].split_once(',').unwrap_or((&rest[1..close], ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let counts = !least.is_empty() && is_number(least) && is_number(most);
    counts.then(|| close + 1 + usize::from(rest[close + 1..].starts_with('?')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> Vec<(&'static str, String)> {
        variants(pattern).into_iter().map(|variant| (variant.operator.as_str(), variant.pattern)).collect()
    }

    #[test]
    fn a_pattern_is_cut_where_re2_cuts_it() {
        let pattern = r"(?i)^a[]|\]x](b|c{2}d)+\Q(|\E[[:alpha:]|]\p{Lu}\x{41}\||e*?$";
        let pieces = Pieces::of(pattern);
        let text =
            |spans: &[Range<usize>]| spans.iter().map(|span| &pattern[span.clone()]).collect::<Vec<_>>();
        assert_eq!(
            text(&pieces.top),
            ["a", r"[]|\]x]", "(b|c{2}d)+", r"\Q(|\E", "[[:alpha:]|]", r"\p{Lu}", r"\x{41}", r"\|", "e*?"]
        );
        assert_eq!(text(&pieces.anchors), ["^", "$"]);
        assert_eq!(text(&pieces.repeats), ["{2}", "+", "*?"]);
        assert_eq!(text(&pieces.groups[0]), [r"^a[]|\]x](b|c{2}d)+\Q(|\E[[:alpha:]|]\p{Lu}\x{41}\|", "e*?$"]);
        assert_eq!(text(&pieces.groups[1]), ["b", "c{2}d"]);
    }

    #[test]
    fn every_alternative_is_dropped_once() {
        assert_eq!(
            of("(?i)(mon|tues|fri)day|now"),
            [
                ("drop_alternative", "(?i)now".to_owned()),
                ("drop_alternative", "(?i)(mon|tues|fri)day".to_owned()),
                ("drop_alternative", "(?i)(tues|fri)day|now".to_owned()),
                ("drop_alternative", "(?i)(mon|fri)day|now".to_owned()),
                ("drop_alternative", "(?i)(mon|tues)day|now".to_owned()),
                ("narrow", "(mon|tues|fri)day|now".to_owned()),
                ("narrow", r"\A(?:(?i)(mon|tues|fri)day|now)\z".to_owned()),
            ]
        );
    }

    #[test]
    fn anchors_ends_and_repeats_are_loosened() {
        assert_eq!(
            of(r"^key=[a-z]+x$"),
            [
                ("widen", r"key=[a-z]+x$".to_owned()),
                ("widen", r"^key=[a-z]+x".to_owned()),
                ("widen", r"(?i)^key=[a-z]+x$".to_owned()),
                ("widen", r"^key=[a-z]*x$".to_owned()),
                ("narrow", r"\A(?:^key=[a-z]+x$)\z".to_owned()),
            ]
        );
        let ends: Vec<_> = of("ab?c").into_iter().map(|(_, pattern)| pattern).collect();
        assert_eq!(ends, ["(?i)ab?c", "b?c", "ab?", r"\A(?:ab?c)\z"]);
    }

    proptest::proptest! {
        #[test]
        fn whatever_re2_takes_can_be_cut(pattern in r"([()|*+?{}\[\]^$\\.:,a-cAzQEbpLxéß0-9 -]|\(\?i\)|\\Q|\\E|\\pL|\{2,\}){0,16}") {
            if Regex::new(&pattern).is_ok() {
                for variant in variants(&pattern) {
                    proptest::prop_assert_ne!(variant.pattern, pattern.clone());
                }
            }
        }
    }

    #[test]
    fn braces_that_count_nothing_are_text() {
        let pieces = Pieces::of("{{name}}{2,}?");
        assert_eq!(pieces.repeats.first(), Some(&(8..13)));
        assert_eq!(pieces.repeats.len(), 1);
        assert_eq!(pieces.top.len(), 8);
    }
}

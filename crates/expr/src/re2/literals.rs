//! Texts without which a pattern cannot match.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How many texts stand for one pattern. A pattern that has more alternatives is looked for by another part, or always.
const MOST_TEXTS: usize = 64;

/// How long a text grows. More of it makes nothing rarer.
const LONGEST: usize = 32;

/// How many characters a class may have to be spelled out.
const MOST_CHARACTERS: u32 = 8;

/// The same for a class without letters of ASCII.
const MOST_FOREIGN: u32 = 64;

/// Alternatives, in lower case.
type Texts = Vec<Vec<u8>>;

/// What is known of the texts that an expression matches.
struct Known {
    /// All of them, where they are few.
    exact: Option<Texts>,
    /// Each holds one of the first, and one of the second, and so on.
    holds: Vec<Texts>,
}

/// How many lists of texts stand for one alternative of a pattern, and how many alternatives for a pattern.
const MOST_LISTS: usize = 6;
const MOST_CLAUSES: usize = 64;

/// Texts of which every match holds at least one, ASCII letters in lower case; `None` where there are none that are worth looking for.
///
/// KELVIN SIGN and LATIN SMALL LETTER LONG S are letters of ASCII when case does not count. They are left out, since they would double
/// the texts of every word with a `k` or an `s`: see [`super::Regex::required_texts`].
pub(super) fn required_texts(hir: &Hir) -> Option<Texts> {
    known(hir).into_best()
}

/// The same in more detail: a match holds a text of every list of one of these clauses.
pub(super) fn required_clauses(hir: &Hir) -> Option<Vec<Vec<Texts>>> {
    let mut clauses = Vec::new();
    add_clauses(hir, &mut clauses)?;
    (clauses.len() <= MOST_CLAUSES).then_some(clauses)
}

// The parser bounds how deep expressions nest.
fn add_clauses(hir: &Hir, clauses: &mut Vec<Vec<Texts>>) -> Option<()> {
    match hir.kind() {
        HirKind::Capture(capture) => add_clauses(&capture.sub, clauses),
        HirKind::Alternation(parts) => parts.iter().try_for_each(|part| add_clauses(part, clauses)),
        _ => {
            let mut lists = known(hir).into_lists();
            lists.retain(is_worth);
            // Rare ones first.
            lists.sort_by_key(|texts| std::cmp::Reverse(rarity(texts)));
            lists.dedup();
            lists.truncate(MOST_LISTS);
            clauses.push(lists);
            clauses.last().is_some_and(|lists| !lists.is_empty()).then_some(())
        }
    }
}

impl Known {
    fn nothing() -> Self {
        Self { exact: None, holds: Vec::new() }
    }

    fn exactly(texts: Texts) -> Self {
        Self { exact: Some(texts), holds: Vec::new() }
    }

    /// Lists of texts: a match holds one of each.
    fn into_lists(self) -> Vec<Texts> {
        self.exact.into_iter().chain(self.holds).collect()
    }

    /// The list that is the rarest.
    fn into_best(self) -> Option<Texts> {
        self.into_lists().into_iter().filter(is_worth).max_by_key(rarity)
    }
}

// The parser bounds how deep expressions nest.
fn known(hir: &Hir) -> Known {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Known::exactly(vec![Vec::new()]),
        HirKind::Literal(literal) => known_literal(&literal.0),
        HirKind::Class(class) => characters(class).map_or_else(Known::nothing, Known::exactly),
        HirKind::Capture(capture) => known(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min == 0 => Known::nothing(),
        HirKind::Repetition(repetition) => Known { exact: None, holds: known(&repetition.sub).into_lists() },
        HirKind::Concat(parts) => joined(parts.iter().map(known)),
        HirKind::Alternation(parts) => either(parts.iter().map(known)),
    }
}

fn known_literal(literal: &[u8]) -> Known {
    let text = literal.to_ascii_lowercase();
    if text.len() <= LONGEST {
        return Known::exactly(vec![text]);
    }
    Known { exact: None, holds: vec![vec![text[..LONGEST].to_vec()]] }
}

/// The characters of a small class, as texts.
fn characters(class: &Class) -> Option<Texts> {
    let Class::Unicode(class) = class else { return None };
    let count: u32 = class.iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1).sum();
    // Characters beyond ASCII are rare, however many of them there are.
    let is_foreign = class.iter().all(|range| !range.start().is_ascii());
    if count > if is_foreign { MOST_FOREIGN } else { MOST_CHARACTERS } {
        return None;
    }
    let all: Vec<char> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
    let stands_for_ascii = |letter: char| {
        matches!(letter, '\u{212a}' if all.contains(&'k'))
            || matches!(letter, '\u{17f}' if all.contains(&'s'))
    };
    let mut texts: Texts = Vec::new();
    for letter in all.iter().filter(|letter| !stands_for_ascii(**letter)) {
        let text = letter.to_ascii_lowercase().to_string().into_bytes();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some(texts)
}

/// One after the other.
fn joined(parts: impl Iterator<Item = Known>) -> Known {
    let mut is_whole = true;
    let mut run: Texts = vec![Vec::new()];
    let mut lists = Vec::new();
    for part in parts {
        let longer = part.exact.as_ref().and_then(|next| product(&run, next));
        if let Some(longer) = longer {
            run = longer;
            continue;
        }
        is_whole = false;
        lists.push(std::mem::replace(&mut run, vec![Vec::new()]));
        match part.exact {
            Some(exact) => run = exact,
            None => lists.extend(part.holds),
        }
    }
    if is_whole {
        return Known::exactly(run);
    }
    lists.push(run);
    lists.retain(is_worth);
    Known { exact: None, holds: lists }
}

/// Every text followed by every other, where that is not too much.
fn product(run: &Texts, next: &Texts) -> Option<Texts> {
    let longest = |texts: &Texts| texts.iter().map(Vec::len).max().unwrap_or(0);
    if run.len() * next.len() > MOST_TEXTS || longest(run) + longest(next) > LONGEST {
        return None;
    }
    let all = run.iter().flat_map(|start| next.iter().map(|end| [start.as_slice(), end].concat()));
    Some(all.collect())
}

/// One of several.
fn either(parts: impl Iterator<Item = Known>) -> Known {
    let (mut exact, mut holds) = (Some(Vec::new()), Some(Vec::new()));
    for part in parts {
        let add = |to: Option<Texts>, texts: Option<&Texts>| {
            let (mut to, texts) = (to?, texts?);
            to.extend(texts.iter().cloned());
            (to.len() <= MOST_TEXTS).then_some(to)
        };
        exact = add(exact, part.exact.as_ref());
        holds = add(holds, part.into_best().as_ref());
    }
    Known { exact, holds: holds.into_iter().collect() }
}

/// Whether texts are worth looking for. Those of a byte or two are everywhere.
fn is_worth(texts: &Texts) -> bool {
    !texts.is_empty() && texts.iter().all(|text| text.len() > 2 || !text.is_ascii())
}

/// The longer the shortest text, the rarer.
fn rarity(texts: &Texts) -> (usize, std::cmp::Reverse<usize>) {
    (texts.iter().map(Vec::len).min().unwrap_or(0), std::cmp::Reverse(texts.len()))
}

#[cfg(test)]
mod tests {
    use crate::re2::Regex;

    fn texts(pattern: &str) -> Option<Vec<String>> {
        let texts = Regex::new(pattern).unwrap().required_texts()?;
        Some(texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect())
    }

    #[test]
    fn the_longest_part_that_must_be_there_is_found() {
        for (pattern, expected) in [
            ("id_(rsa|dsa)", &["id_rsa", "id_dsa"][..]),
            (r"(?i)API[_-]key:\s*(\w+)", &["api-key:", "api_key:"]),
            (r"(?i)ask", &["ask"]),
            (r"\d+ secrets? leak(ed)?", &[" secret"]),
            ("(abc){2,}x", &["abc"]),
            ("(?:first|second).*third", &["third"]),
            (r"^curl\b", &["curl"]),
            (r"https?://[a-z]+\.example", &[".example"]),
        ] {
            assert_eq!(texts(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn every_alternative_has_lists_of_its_own() {
        let clauses = |pattern: &str| {
            let clauses = Regex::new(pattern).unwrap().required_clauses()?;
            let text = |text: Vec<u8>| String::from_utf8(text).unwrap();
            let list = |texts: Vec<Vec<u8>>| texts.into_iter().map(text).collect::<Vec<_>>().join("|");
            let clause =
                |lists: Vec<Vec<Vec<u8>>>| lists.into_iter().map(list).collect::<Vec<_>>().join(" & ");
            Some(clauses.into_iter().map(clause).collect::<Vec<_>>().join(" or "))
        };
        for (pattern, expected) in [
            (r"(?i)(ignore|forget)\s+(all\s+)?(rules|orders)", Some("ignore|forget & rules|orders")),
            (r"curl.*\|\s*bash|(wget).{0,9}sudo", Some("curl & bash or wget & sudo")),
            (r"(?:abc.*def)+", Some("abc & def")),
            (r"abc|[0-9]+", None),
        ] {
            assert_eq!(clauses(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn what_can_match_anything_needs_nothing() {
        for pattern in
            ["", "a*", "[^ ]", "abc|", "(abc)?", "abc|[0-9]+", r"\pL{3}", "ab", "(abc)*d", "abc|de|fgh"]
        {
            assert_eq!(texts(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn long_texts_and_many_alternatives_are_bounded() {
        let long = "x".repeat(1000);
        assert_eq!(texts(&long).unwrap(), ["x".repeat(32)]);
        let many = (0..1000).map(|number| format!("word{number}")).collect::<Vec<_>>().join("|");
        assert!(texts(&many).is_none_or(|texts| texts.len() <= 64));
        assert!(texts(&"[ab]".repeat(100)).unwrap().len() <= 64);
    }
}

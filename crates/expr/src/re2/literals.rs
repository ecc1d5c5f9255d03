//! Texts without which a pattern cannot match.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How many texts stand for one pattern. A pattern that has more alternatives is looked for by another part, or always.
const MOST_TEXTS: usize = 64;

/// How long a text grows. More of it makes nothing rarer.
const LONGEST: usize = 32;

/// How many characters a class may have to be spelled out.
const MOST_CHARACTERS: u32 = 8;

/// Alternatives, in lower case.
type Texts = Vec<Vec<u8>>;

/// What is known of the texts that an expression matches.
struct Known {
    /// All of them, where they are few.
    exact: Option<Texts>,
    /// Each holds one of these.
    holds: Option<Texts>,
}

/// Texts of which every match holds at least one, ASCII letters in lower case; `None` where there are none that are worth looking for.
///
/// KELVIN SIGN and LATIN SMALL LETTER LONG S are letters of ASCII when case does not count. They are left out, since they would double
/// the texts of every word with a `k` or an `s`: see [`super::Regex::required_texts`].
pub(super) fn required_texts(hir: &Hir) -> Option<Texts> {
    known(hir).into_holds()
}

impl Known {
    fn nothing() -> Self {
        Self { exact: None, holds: None }
    }

    fn exactly(texts: Texts) -> Self {
        Self { exact: Some(texts), holds: None }
    }

    fn into_holds(self) -> Option<Texts> {
        better(self.exact, self.holds)
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
        HirKind::Repetition(repetition) => Known { exact: None, holds: known(&repetition.sub).into_holds() },
        HirKind::Concat(parts) => joined(parts.iter().map(known)),
        HirKind::Alternation(parts) => either(parts.iter().map(known)),
    }
}

fn known_literal(literal: &[u8]) -> Known {
    let text = literal.to_ascii_lowercase();
    if text.len() <= LONGEST {
        return Known::exactly(vec![text]);
    }
    Known { exact: None, holds: Some(vec![text[..LONGEST].to_vec()]) }
}

/// The characters of a small class, as texts.
fn characters(class: &Class) -> Option<Texts> {
    let Class::Unicode(class) = class else { return None };
    let count: u32 = class.iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1).sum();
    if count > MOST_CHARACTERS {
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
    let mut best = None;
    for part in parts {
        let longer = part.exact.as_ref().and_then(|next| product(&run, next));
        if let Some(longer) = longer {
            run = longer;
            continue;
        }
        is_whole = false;
        best = better(best, Some(std::mem::replace(&mut run, vec![Vec::new()])));
        match part.exact {
            Some(exact) => run = exact,
            None => best = better(best, part.holds),
        }
    }
    if is_whole { Known::exactly(run) } else { Known { exact: None, holds: better(best, Some(run)) } }
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
        holds = add(holds, part.into_holds().as_ref());
    }
    Known { exact, holds }
}

/// Whichever is rarer: the one whose shortest text is longer. Texts of a byte or two are everywhere.
fn better(one: Option<Texts>, other: Option<Texts>) -> Option<Texts> {
    let shortest = |texts: &Texts| texts.iter().map(Vec::len).min().unwrap_or(0);
    let worth = [one, other].into_iter().flatten().filter(|texts| shortest(texts) > 2);
    worth.max_by_key(|texts| (shortest(texts), std::cmp::Reverse(texts.len())))
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

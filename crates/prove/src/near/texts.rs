//! Texts that are nearly what an indicator looks for, and texts that are just that.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use sortie_expr::cel::{PartKind, Program, string_literals};
use sortie_oatf::model::{Condition, Indicator, MatchCondition};

use serde_json::Value;

/// So many examples of one pattern, and texts in one place, are tried.
const EXAMPLES: usize = 40;
const TEXTS: usize = 700;

/// A longer pattern is not looked into, and a longer example is none.
const MAX_PATTERN: usize = 8_000;
const MAX_EXAMPLE: usize = 2_000;

/// What an indicator looks for, in one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// A text.
    Text(String),
    /// A pattern.
    Pattern(String),
}

/// What an indicator looks for.
pub(super) fn words(indicator: &Indicator) -> Vec<Words> {
    let mut words = Vec::new();
    if let Some(pattern) = &indicator.pattern {
        match (&pattern.condition, &pattern.shorthand) {
            (Some(Condition::Value(value)), _) => of_value(value, &mut words),
            (Some(Condition::Match(condition)), _) | (None, Some(condition)) => {
                of_condition(condition, &mut words);
            }
            (None, None) => {}
        }
    }
    if let Some(expression) = &indicator.expression {
        let parts = Program::compile(&expression.cel).map(|program| program.parts()).unwrap_or_default();
        for part in parts {
            if let PartKind::Search { function: "matches", literal: Some(literal), .. } = part.kind {
                words.push(Words::Pattern(literal));
            }
        }
        for literal in string_literals(&expression.cel).unwrap_or_default() {
            let text = literal.text.to_string();
            if !words.contains(&Words::Pattern(text.clone())) {
                words.push(Words::Text(text));
            }
        }
    }
    words
}

fn of_condition(condition: &MatchCondition, words: &mut Vec<Words>) {
    let MatchCondition { contains, starts_with, ends_with, regex, any_of, .. } = condition;
    words.extend([contains, starts_with, ends_with].into_iter().flatten().cloned().map(Words::Text));
    words.extend(regex.iter().cloned().map(Words::Pattern));
    any_of.iter().flatten().for_each(|value| of_value(value, words));
}

fn of_value(value: &Value, words: &mut Vec<Words>) {
    if let Value::String(text) = value {
        words.push(Words::Text(text.clone()));
    }
}

/// Texts to put where `seen` stands: each thing that is looked for alone, among others, in other letters, and together.
pub(super) fn texts(words: &[Words], seen: &str) -> Vec<String> {
    let plain = words.iter().flat_map(|words| match words {
        Words::Text(text) => vec![text.clone()],
        Words::Pattern(pattern) => examples(pattern),
    });
    let mut plain: Vec<String> = plain.collect();
    plain.retain(|text| text.len() <= MAX_EXAMPLE);
    plain.dedup();
    let alone = plain.iter().flat_map(|text| {
        let (among, glued) = (format!("see {text} here"), format!("x{text}x"));
        [text.clone(), among, other_case(text), glued, format!("one\n{text}\ntwo")]
    });
    let beside = || plain.iter().flat_map(|text| [format!("{seen} {text}"), format!("{text} {seen}")]);
    let with_seen = (seen.len() <= MAX_EXAMPLE)
        .then(|| [seen.to_owned(), other_case(seen)].into_iter().chain(beside()))
        .into_iter()
        .flatten();
    let few = || plain.iter().take(12);
    let together = plain.iter().flat_map(|text| few().map(move |other| format!("{text} {other}")));
    let all = [String::new(), "nothing".to_owned()].into_iter().chain(alone).chain(with_seen).chain(together);
    // In the order they are thought of, each once.
    let mut known = HashSet::new();
    all.filter(|text| known.insert(text.clone())).take(TEXTS).collect()
}

/// The same letters, each in its other form.
fn other_case(text: &str) -> String {
    let turned = |letter: char| -> Vec<char> {
        if letter.is_uppercase() { letter.to_lowercase().collect() } else { letter.to_uppercase().collect() }
    };
    text.chars().flat_map(turned).collect()
}

/// Texts that a pattern matches: by each of its alternatives, as short as can be and a little longer. What an anchor or a word
/// boundary asks for is left to whoever tries them.
fn examples(pattern: &str) -> Vec<String> {
    if pattern.len() > MAX_PATTERN {
        return Vec::new();
    }
    let Ok(hir) = ParserBuilder::new().nest_limit(100).build().parse(pattern) else { return Vec::new() };
    let mut examples = of(&hir);
    examples.dedup();
    examples
}

// The parser stops at a hundred levels, so recursion is bounded; each level holds few and short texts.
fn of(hir: &Hir) -> Vec<String> {
    let mut texts = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![String::new()],
        HirKind::Literal(literal) => vec![String::from_utf8_lossy(&literal.0).into_owned()],
        HirKind::Class(class) => letters(class).into_iter().map(String::from).collect(),
        HirKind::Capture(capture) => of(&capture.sub),
        HirKind::Repetition(repetition) => {
            let once = of(&repetition.sub);
            let least = usize::try_from(repetition.min).unwrap_or(0);
            let first = once.first().cloned().unwrap_or_default();
            // Counted beyond what is tried, it is not an example of anything.
            let shortest = first.repeat(least.min(MAX_EXAMPLE / first.len().max(1)));
            let mut texts = vec![shortest.clone()];
            // As often as it may be, and once more.
            let most = repetition.max.and_then(|most| usize::try_from(most).ok());
            let most = most.filter(|most| *most > least.max(1)).into_iter().flat_map(|most| [most, most + 1]);
            let most = most.filter(|count| count * first.len() <= MAX_EXAMPLE);
            texts.extend(most.map(|count| first.repeat(count)));
            if repetition.max.is_none_or(|most| most > repetition.min) {
                texts.extend(once.iter().map(|text| format!("{shortest}{text}")));
            } else if least > 0 {
                let rest = first.repeat(least - 1);
                texts.extend(once.iter().skip(1).map(|text| format!("{text}{rest}")));
            }
            texts
        }
        HirKind::Alternation(branches) => {
            let branches: Vec<Vec<String>> = branches.iter().map(of).collect();
            // The first of each before the second of any.
            let most = branches.iter().map(Vec::len).max().unwrap_or(0);
            (0..most)
                .flat_map(|at| branches.iter().filter_map(move |branch| branch.get(at).cloned()))
                .collect()
        }
        HirKind::Concat(parts) => {
            let parts: Vec<Vec<String>> = parts.iter().map(of).collect();
            let first = |at: usize| parts[at].first().map_or("", String::as_str);
            let mut texts = vec![(0..parts.len()).map(first).collect::<String>()];
            for (at, part) in parts.iter().enumerate() {
                let with = |other: &String| {
                    (0..parts.len()).map(|here| if here == at { other } else { first(here) }).collect()
                };
                texts.extend(part.iter().skip(1).map(with));
            }
            texts
        }
    };
    texts.truncate(EXAMPLES);
    texts.retain(|text| text.len() <= MAX_EXAMPLE);
    texts
}

/// Letters of a class: all of a small one, else a plain one and the first.
fn letters(class: &Class) -> Vec<char> {
    let ranges: Vec<RangeInclusive<char>> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| range.start()..=range.end()).collect(),
        Class::Bytes(class) => class.ranges().iter().map(|r| r.start().into()..=r.end().into()).collect(),
    };
    let few: Vec<char> = ranges.iter().cloned().flatten().take(9).collect();
    if few.len() <= 8 {
        return few;
    }
    let within = |letter: &char| ranges.iter().any(|range| range.contains(letter));
    "ax7AX-_ ".chars().filter(within).take(1).chain(few.into_iter().take(1)).collect()
}

#[cfg(test)]
mod tests {
    use sortie_expr::re2::Regex;

    use super::*;

    #[test]
    fn every_alternative_has_an_example() {
        let pattern = r"(?i)(mon|tues|fri)day|now [0-9]{3}|k=[^&]+";
        let examples = examples(pattern);
        for branch in ["(?i)monday", "(?i)tuesday", "(?i)friday", "(?i)now [0-9]{3}", "(?i)k=[^&]+"] {
            let branch = Regex::new(&format!(r"\A(?:{branch})\z")).unwrap();
            assert!(examples.iter().any(|example| branch.is_match(example)), "{examples:?}");
        }
    }

    #[test]
    fn what_is_no_pattern_or_repeats_without_end_is_survived() {
        assert_eq!(examples("("), Vec::<String>::new());
        assert!(examples("((a{900}){900})").iter().all(|example| example.len() <= MAX_EXAMPLE));
        assert!(texts(&[Words::Pattern("(a|b|c|d|e){3}(f|g){9}x*".repeat(20))], "seen").len() <= TEXTS);
    }
}

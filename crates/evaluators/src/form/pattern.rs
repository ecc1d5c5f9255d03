//! Texts that a regular expression matches.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many parts of a pattern are written for one example.
const MAX_STEPS: usize = 20_000;
/// Patterns longer than this are not looked into.
const MAX_PATTERN: usize = 2_000;

/// Short texts that a pattern matches: one as short as it can be, and one of about `least` characters. None for a pattern
/// that cannot be read. Look-around says nothing here; what comes of it is validated.
pub(super) fn examples(pattern: &str, least: u64) -> Vec<String> {
    if pattern.len() > MAX_PATTERN {
        return Vec::new();
    }
    let Ok(hir) = Parser::new().parse(pattern) else { return Vec::new() };
    let mut examples = Vec::new();
    for longer in [0, usize::try_from(least).unwrap_or(0)] {
        let (mut text, mut steps) = (String::new(), MAX_STEPS);
        if write(&hir, longer, &mut text, &mut steps).is_some() && !examples.contains(&text) {
            examples.push(text);
        }
    }
    // The longer one is meant where there is a bound.
    if least > 0 {
        examples.reverse();
    }
    examples
}

// The parser stops at 250 levels, so recursion is bounded.
fn write(hir: &Hir, longer: usize, text: &mut String, steps: &mut usize) -> Option<()> {
    *steps = steps.checked_sub(1)?;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            text.push(plainest(class.ranges().iter().map(|range| (range.start(), range.end())))?);
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.push(plainest(
                class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))),
            )?);
        }
        HirKind::Repetition(repetition) => {
            let least = usize::try_from(repetition.min).ok()?;
            let most = repetition.max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
            for _ in 0..least.max(longer.min(most)) {
                write(&repetition.sub, 0, text, steps)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, longer, text, steps)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, longer, text, steps))?,
        HirKind::Alternation(parts) => write(parts.first()?, longer, text, steps)?,
    }
    Some(())
}

/// A letter if there is one, then a digit, then whatever begins the class.
fn plainest(ranges: impl Iterator<Item = (char, char)>) -> Option<char> {
    let ranges: Vec<(char, char)> = ranges.collect();
    let within = |letter: char| ranges.iter().any(|(start, end)| *start <= letter && letter <= *end);
    "axAX019-_ ".chars().find(|letter| within(*letter)).or_else(|| ranges.first().map(|(start, _)| *start))
}

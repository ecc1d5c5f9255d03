//! The real path that a target which leads nowhere was probably meant to be.

use super::shape::Walk;
use super::similarity::distance;
use super::table::{Message, Table};
use super::target::{Path, Step, parse_target};

/// Words that people put in front of a path though the message does not have them: parts of the envelope, names
/// of protocols, and what other tools call the message.
const WRAPPERS: &str = "request response req resp params result error message msg body data payload event input output \
                        reply task tool tool_call call rpc json mcp a2a ag_ui agui";

/// Wrappers that are taken off: more is not a slip, and would let a hostile document make this slow.
const MOST_WRAPPERS: usize = 3;
/// Levels that may be missing in front of a target: `text` for `message.parts[*].text`.
const MISSING_LEVELS: usize = 2;
/// Fields in a suggested path. Deeper ones exist, but nobody means them by a slip.
const DEPTH: usize = 5;

const WRAPPER_COST: usize = 2;
const MISSING_LEVEL_COST: usize = 3;
const WILDCARD_COST: usize = 1;
/// Beyond this a suggestion is a guess.
const WORST: usize = 7;

/// The path nearest to `target` in one of `messages`, and the message that has it.
///
/// What a table hints at comes first, then the cheapest of all paths, then the shorter, then the earlier.
/// A target that is nothing but wrapping means the whole message.
pub(super) fn nearest<'a>(
    table: &'static Table,
    messages: &[&'a Message],
    target: &[Step<'_>],
) -> Option<(String, &'a Message)> {
    let target = segments(target);
    hinted(table, messages, &target).or_else(|| cheapest(table, messages, &target)).or_else(|| {
        let whole = wrapping(&target) == target.len();
        Some((String::new(), *messages.first().filter(|_| whole)?))
    })
}

fn hinted<'a>(
    table: &'static Table,
    messages: &[&'a Message],
    target: &[Segment<'_>],
) -> Option<(String, &'a Message)> {
    for unwrapped in (0..=wrapping(target)).map(|wrappers| &target[wrappers..]) {
        for (written, meant) in &table.hints {
            let same = written.split('.').eq(unwrapped.iter().map(|segment| segment.name));
            let Some(steps) = parse_target(meant).filter(|_| same) else {
                continue;
            };
            let has = |message: &&&Message| table.shapes.walk(&message.roots, &steps) == Walk::Arrives;
            if let Some(message) = messages.iter().find(has) {
                return Some(((*meant).to_owned(), message));
            }
        }
    }
    None
}

fn cheapest<'a>(
    table: &'static Table,
    messages: &[&'a Message],
    target: &[Segment<'_>],
) -> Option<(String, &'a Message)> {
    let mut best: Option<((usize, usize), String, &Message)> = None;
    for &message in messages {
        table.shapes.each_path(&message.roots, DEPTH, &mut |path, free| {
            let real = segments(path);
            if let Some((cost, rest)) = align(&real, target, free) {
                let rank = (cost, real.len());
                if best.as_ref().is_none_or(|(best, ..)| rank < *best) {
                    best = Some((rank, written(path, rest), message));
                }
            }
        });
    }
    best.map(|(_, path, message)| (path, message))
}

/// What it costs to read `target` as the path `real`, and how much of the target lies beyond it.
fn align<'t, 'a>(
    real: &[Segment<'_>],
    target: &'t [Segment<'a>],
    free: bool,
) -> Option<(usize, &'t [Segment<'a>])> {
    let mut best: Option<(usize, &[Segment<'_>])> = None;
    for wrappers in 0..=wrapping(target) {
        for missing in 0..=MISSING_LEVELS.min(real.len()) {
            let (real, target) = (&real[missing..], &target[wrappers..]);
            // Only free-form content can be followed by anything of its author's choice.
            if real.is_empty() || real.len() > target.len() || (real.len() < target.len() && !free) {
                continue;
            }
            let (same, rest) = target.split_at(real.len());
            let pairs = || real.iter().zip(same);
            let Some(names) =
                pairs().map(|(real, written)| distance(written.name, real.name)).sum::<Option<usize>>()
            else {
                continue;
            };
            let wildcards = pairs().filter(|(real, written)| real.wildcards != written.wildcards).count();
            let cost =
                wrappers * WRAPPER_COST + missing * MISSING_LEVEL_COST + names + wildcards * WILDCARD_COST;
            if cost <= WORST && best.is_none_or(|(best, _)| cost < best) {
                best = Some((cost, rest));
            }
        }
    }
    best
}

/// A field and the wildcards after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment<'a> {
    name: &'a str,
    wildcards: usize,
}

fn segments<'a>(steps: &[Step<'a>]) -> Vec<Segment<'a>> {
    let mut segments: Vec<Segment<'_>> = Vec::with_capacity(steps.len());
    for step in steps {
        match (step, segments.last_mut()) {
            (Step::Field(name), _) => segments.push(Segment { name, wildcards: 0 }),
            (Step::Elements, Some(last)) => last.wildcards += 1,
            (Step::Elements, None) => segments.push(Segment { name: "", wildcards: 1 }),
        }
    }
    segments
}

/// How many segments at the front of a target are wrapping.
fn wrapping(target: &[Segment<'_>]) -> usize {
    let front = target.iter().take(MOST_WRAPPERS);
    front.take_while(|segment| WRAPPERS.split(' ').any(|word| word == segment.name)).count()
}

/// A real path, and behind it what the target had beyond.
fn written(path: &[Step<'_>], rest: &[Segment<'_>]) -> String {
    let mut steps = path.to_vec();
    for segment in rest {
        steps.push(Step::Field(segment.name));
        steps.extend(std::iter::repeat_n(Step::Elements, segment.wildcards));
    }
    Path(&steps).to_string()
}

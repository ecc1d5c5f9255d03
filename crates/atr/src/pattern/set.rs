//! Sets of characters, closed under case: what a class matches when case does not count.

use super::node::{Class, ClassItem};

/// The last character.
const LAST: u32 = 0x10_FFFF;

/// Sorted ranges of code points that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharSet(Vec<(u32, u32)>);

impl CharSet {
    pub(super) fn word() -> Self {
        Self::from_ranges(vec![(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
    }

    fn space() -> Self {
        let others = [0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, 0xFEFF];
        let mut ranges: Vec<_> = others.into_iter().map(|space| (space, space)).collect();
        ranges.extend([(0x09, 0x0D), (0x2000, 0x200A), (0x2028, 0x2029)]);
        Self::from_ranges(ranges)
    }

    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    /// A character in either case.
    pub(super) fn of_letter(letter: char) -> Self {
        let mut ranges = Vec::new();
        add_cases(letter, letter, &mut ranges);
        Self::from_ranges(ranges)
    }

    /// What a class matches; `None` for a group of Unicode, which is not known here.
    pub(super) fn of_class(class: &Class) -> Option<Self> {
        let mut ranges = Vec::new();
        for item in &class.items {
            let (set, negated) = match item {
                ClassItem::Range(first, last) => {
                    add_cases(*first, *last, &mut ranges);
                    continue;
                }
                ClassItem::Digit { negated } => (Self(vec![(0x30, 0x39)]), *negated),
                ClassItem::Word { negated } => (Self::word(), *negated),
                ClassItem::Space { negated } => (Self::space(), *negated),
                ClassItem::Group { .. } => return None,
            };
            ranges.extend(if negated { set.complement() } else { set }.0);
        }
        let set = Self::from_ranges(ranges);
        Some(if class.negated { set.complement() } else { set })
    }

    fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for (first, last) in &self.0 {
            if *first > next {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self(ranges)
    }

    pub(super) fn contains_all(&self, other: &Self) -> bool {
        let within = |(first, last): &(u32, u32)| self.0.iter().any(|(from, to)| from <= first && last <= to);
        other.0.iter().all(within)
    }

    pub(super) fn union<'s>(sets: impl Iterator<Item = &'s Self>) -> Self {
        Self::from_ranges(sets.flat_map(|set| set.0.iter().copied()).collect())
    }

    /// A class that matches this, written in the shorter way.
    pub(super) fn to_class(&self) -> Class {
        let negated = self.0.last().is_some_and(|(_, last)| *last == LAST);
        let ranges = if negated { self.complement() } else { self.clone() };
        let items = ranges.0.iter().filter_map(|(first, last)| {
            // Surrogates are not in any text.
            let first = char::from_u32(*first).unwrap_or('\u{E000}');
            let last = char::from_u32(*last).unwrap_or('\u{D7FF}');
            (first <= last).then_some(ClassItem::Range(first, last))
        });
        Class { negated, items: items.collect() }
    }
}

/// Adds a range and the other cases of its letters, as JavaScript folds them: no letter beyond ASCII folds to one of ASCII.
fn add_cases(first: char, last: char, ranges: &mut Vec<(u32, u32)>) {
    ranges.push((first.into(), last.into()));
    for letter in (first..=last).filter(|letter| letter.is_alphabetic()) {
        let lower = letter.to_lowercase();
        let upper = letter.to_uppercase();
        let mut add = |mut cases: Box<dyn Iterator<Item = char>>| {
            if let (Some(only), None) = (cases.next(), cases.next())
                && only != letter
                && only.is_ascii() == letter.is_ascii()
            {
                ranges.push((only.into(), only.into()));
            }
        };
        add(Box::new(lower));
        add(Box::new(upper));
    }
}

/// First and last characters.
type Ranges = Vec<(u32, u32)>;

/// All characters, in sets of those that no set of a list tells apart.
pub(super) fn partition(sets: &[CharSet]) -> Vec<CharSet> {
    let mut starts = vec![0];
    for (first, last) in sets.iter().flat_map(|set| &set.0) {
        starts.push(*first);
        starts.push(last + 1);
    }
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|start| *start <= LAST);
    let mut parts: Vec<(Vec<bool>, Ranges)> = Vec::new();
    for (at, first) in starts.iter().enumerate() {
        let last = starts.get(at + 1).map_or(LAST, |next| next - 1);
        let one = CharSet(vec![(*first, *first)]);
        let signature: Vec<bool> = sets.iter().map(|set| set.contains_all(&one)).collect();
        match parts.iter_mut().find(|(known, _)| *known == signature) {
            Some((_, ranges)) => ranges.push((*first, last)),
            None => parts.push((signature, vec![(*first, last)])),
        }
    }
    parts.into_iter().map(|(_, ranges)| CharSet::from_ranges(ranges)).collect()
}

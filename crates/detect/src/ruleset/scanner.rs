//! Looks for thousands of texts at once, whatever the case of their letters.
//!
//! Of each text, four bytes that are rare are kept in a table of bits, which fits the cache of a core. Most places of a message are passed over
//! by one look at the table; where it says that something may be there, the text is compared. An automaton for so many texts does not fit the
//! cache, and has to be told apart from the many words that begin like one of them. `cargo xtask bench scan` guards it.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use sortie_expr::re2::FoldedText;

use super::u32_of;

/// Finds texts.
#[derive(Debug)]
pub(super) struct TextScanner {
    /// All bytes of the texts, one after the other.
    bytes: Vec<u8>,
    /// Texts of at least four bytes, by four of them.
    fours: WindowTable<12>,
    /// Texts of three and of two bytes.
    threes: WindowTable<8>,
    twos: WindowTable<10>,
    /// Texts with bytes that few messages have, and those that are too short for the tables.
    rare: Option<RareTexts>,
}

#[derive(Debug)]
struct RareTexts {
    automaton: AhoCorasick,
    numbers: Vec<u32>,
    /// Whether all of them have such a byte.
    need_rare_byte: bool,
}

/// Whether a byte is of a character that few texts have.
fn is_rare(byte: u8) -> bool {
    !byte.is_ascii() || (byte < b' ' && !(b'\t'..=b'\r').contains(&byte))
}

impl TextScanner {
    /// Folded texts, with the number by which each is told.
    pub(super) fn new<'t>(texts: impl Iterator<Item = (u32, &'t [u8])> + Clone) -> Self {
        let mut counts: HashMap<&[u8], u32> = HashMap::new();
        for window in texts.clone().flat_map(|(_, text)| text.windows(4)) {
            *counts.entry(window).or_default() += 1;
        }
        let (mut bytes, mut fours, mut threes, mut twos) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut rare, mut numbers, mut need_rare_byte) = (Vec::new(), Vec::new(), true);
        for (number, text) in texts {
            let has_rare = text.iter().copied().any(is_rare);
            let mut place =
                TextPlace { text: number, start: u32_of(bytes.len()), length: 0, offset: 0, tail: [0; 4] };
            match text {
                [first, second] if !has_rare => {
                    twos.push((u32::from_le_bytes([*first, *second, 0, 0]), place));
                }
                [first, second, third] if !has_rare => {
                    threes.push((u32::from_le_bytes([*first, *second, *third, 0]), place));
                }
                [.., before, third, second, last] if !has_rare => {
                    let offset = rarest_window(text, &counts);
                    let window = [text[offset], text[offset + 1], text[offset + 2], text[offset + 3]];
                    (place.length, place.offset) = (u32_of(text.len()), u32_of(offset));
                    place.tail = [*before, *third, *second, *last];
                    bytes.extend_from_slice(text);
                    fours.push((u32::from_le_bytes(window), place));
                }
                _ => {
                    rare.push(text);
                    numbers.push(number);
                    need_rare_byte &= has_rare;
                }
            }
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&rare).ok();
        let rare = automaton.filter(|_| !rare.is_empty());
        Self {
            bytes,
            fours: WindowTable::new(fours),
            threes: WindowTable::new(threes),
            twos: WindowTable::new(twos),
            rare: rare.map(|automaton| RareTexts { automaton, numbers, need_rare_byte }),
        }
    }

    /// Calls `found` with every place of every text: its number, and where it begins. Places of one text are in order.
    pub(super) fn scan(&self, text: &FoldedText, mut found: impl FnMut(u32, usize)) {
        let bytes = text.as_bytes();
        // The last bytes begin a window too.
        for (at, window) in text.padded().array_windows::<4>().enumerate() {
            let window = u32::from_le_bytes(*window);
            let (three, two) = (window & 0x00ff_ffff, window & 0xffff);
            let (of_four, of_three, of_two) =
                (self.fours.may_have(window), self.threes.may_have(three), self.twos.may_have(two));
            if !(of_four | of_three | of_two) {
                continue;
            }
            if of_four {
                for place in self.fours.places(window) {
                    if let Some(start) = self.compare(place, bytes, at) {
                        found(place.text, start);
                    }
                }
            }
            // These are their windows, and have no zeros, as what is behind the end has.
            if of_three {
                self.threes.places(three).iter().for_each(|place| found(place.text, at));
            }
            if of_two {
                self.twos.places(two).iter().for_each(|place| found(place.text, at));
            }
        }
        if let Some(rare) = &self.rare
            && (!rare.need_rare_byte || bytes.iter().copied().any(is_rare))
        {
            for place in rare.automaton.find_overlapping_iter(bytes) {
                found(rare.numbers[place.pattern().as_usize()], place.start());
            }
        }
    }

    /// Where a text begins whose window is at a place.
    #[inline]
    fn compare(&self, place: &TextPlace, bytes: &[u8], at: usize) -> Option<usize> {
        let start = at.checked_sub(place.offset as usize)?;
        let there = bytes.get(start..start + place.length as usize)?;
        // The last bytes say most of what the window does not.
        if there.last_chunk() != Some(&place.tail) {
            return None;
        }
        let (from, length) = (place.start as usize, place.length as usize);
        (*there == self.bytes[from..from + length]).then_some(start)
    }
}

/// About how many places of a byte begin a text, by its letters.
pub(super) fn occurrences(text: &[u8]) -> f64 {
    text.iter().map(|byte| f64::from(common(*byte)) - 13.0).sum::<f64>().exp2()
}

/// Where the four bytes begin that are the least common together, by their letters and by how many texts have them.
fn rarest_window(text: &[u8], counts: &HashMap<&[u8], u32>) -> usize {
    let of_letters = |window: &[u8]| window.iter().map(|byte| common(*byte)).sum::<u32>();
    let of_count = |window: &[u8]| counts.get(window).map_or(0, |count| 4 * count.ilog2());
    let commonness = |window: &[u8]| of_letters(window) + of_count(window);
    let windows = text.windows(4).enumerate();
    windows.min_by_key(|(_, window)| commonness(window)).map_or(0, |(at, _)| at)
}

/// How common a byte is in texts, roughly.
fn common(byte: u8) -> u32 {
    match byte {
        b' ' => 11,
        b'e' | b't' => 10,
        b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 9,
        b'h' | b'l' | b'd' | b'c' => 8,
        b'u' | b'm' | b'p' | b'f' | b'g' => 7,
        b'w' | b'y' | b'b' | b'v' => 5,
        b'k' | b'0'..=b'9' | b'.' | b',' | b'"' | b'-' | b'_' | b'/' => 4,
        b'x' => 2,
        _ => 1,
    }
}

/// A text, and which of its bytes is the first of a window.
#[derive(Clone, Copy, Debug)]
struct TextPlace {
    text: u32,
    /// Where its bytes are, unless they are the window.
    start: u32,
    length: u32,
    offset: u32,
    /// Its last bytes.
    tail: [u8; 4],
}

/// Texts by a few of their bytes. The table of bits has 2^`WORDS` words.
#[derive(Debug)]
struct WindowTable<const WORDS: u32> {
    bits: Vec<u64>,
    /// Windows, sought from the place that their bytes say.
    slots: Vec<WindowSlot>,
    places: Vec<TextPlace>,
}

/// A window, and the range of its texts; an empty one where there is no window.
#[derive(Clone, Copy, Debug, Default)]
struct WindowSlot {
    window: u32,
    start: u32,
    end: u32,
}

impl<const WORDS: u32> WindowTable<WORDS> {
    fn new(mut windows: Vec<(u32, TextPlace)>) -> Self {
        windows.sort_by_key(|(window, place)| (*window, place.text));
        let mut bits = vec![0; 1 << WORDS];
        let mut slots = vec![WindowSlot::default(); (windows.len() * 2).next_power_of_two().max(2)];
        let mut places: Vec<TextPlace> = Vec::new();
        for same in windows.chunk_by(|one, other| one.0 == other.0) {
            let window = same[0].0;
            let (word, bit) = Self::bit(window);
            bits[word] |= 1 << bit;
            let start = u32_of(places.len());
            places.extend(same.iter().map(|(_, place)| place));
            let mut slot = Self::slot(window, slots.len());
            while slots[slot].end != 0 {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = WindowSlot { window, start, end: u32_of(places.len()) };
        }
        Self { bits, slots, places }
    }

    /// Its bit: the word and the position in it.
    #[inline]
    fn bit(window: u32) -> (usize, u32) {
        let mixed = window.wrapping_mul(0x9e37_79b1) >> (26 - WORDS);
        ((mixed >> 6) as usize, mixed & 63)
    }

    /// Where a window is sought first. The number of slots is a power of two.
    fn slot(window: u32, slots: usize) -> usize {
        (window.wrapping_mul(0x85eb_ca6b) >> 7) as usize & (slots - 1)
    }

    #[inline]
    fn may_have(&self, window: u32) -> bool {
        let (word, bit) = Self::bit(window);
        self.bits.get(word).is_some_and(|word| word >> bit & 1 == 1)
    }

    fn places(&self, window: u32) -> &[TextPlace] {
        let mut slot = Self::slot(window, self.slots.len());
        loop {
            match self.slots[slot] {
                WindowSlot { end: 0, .. } => return &[],
                WindowSlot { window: known, start, end } if known == window => {
                    return &self.places[start as usize..end as usize];
                }
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As looking for one text after the other finds them.
        #[test]
        fn every_place_of_every_text_is_found(
            texts in prop::collection::btree_set("[ab\u{e9}\u{1b}]{1,6}", 1..40),
            text in "[ab\u{e9}\u{1b}]{0,60}",
        ) {
            let texts: Vec<String> = texts.into_iter().collect();
            let scanner = TextScanner::new((0..).zip(texts.iter().map(String::as_bytes)));
            let mut found = Vec::new();
            let mut folded = FoldedText::default();
            folded.fold(&text);
            scanner.scan(&folded, |text, at| found.push((text as usize, at)));
            found.sort_unstable();
            let mut expected = Vec::new();
            for (number, wanted) in texts.iter().enumerate() {
                let places = (0..=text.len()).filter(|at| text.as_bytes()[*at..].starts_with(wanted.as_bytes()));
                expected.extend(places.map(|at| (number, at)));
            }
            prop_assert_eq!(found, expected);
        }
    }
}

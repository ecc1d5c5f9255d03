//! Looks for thousands of texts at once, whatever the case of their letters.
//!
//! Of each text, some bytes that are rare are kept in a table of bits. Most places of a message are passed over by one look at the table; where
//! it says that something may be there, the text is compared. Of long texts, eight bytes are kept at four places in a row, so that only every fourth
//! place of a message is looked at; of shorter ones, five bytes at two places. An automaton for so many texts does not fit the cache, and has to be told apart from the many words that begin
//! like one of them. `cargo xtask bench scan` guards it.

use std::cmp::Reverse;
use std::collections::HashMap;

use memchr::memchr_iter;
use sortie_expr::re2::FoldedText;

use super::u32_of;

/// Finds texts.
#[derive(Debug)]
pub(super) struct TextScanner {
    /// All bytes of the texts, one after the other.
    bytes: Vec<u8>,
    /// Texts of at least `LONG` bytes, by eight of them.
    eights: WindowTable<13>,
    /// Other texts of at least `MIDDLE` bytes, by five of them.
    fives: WindowTable<11>,
    /// Other texts of at least four bytes, by four of them.
    fours: WindowTable<9>,
    /// Texts of three and of two bytes.
    threes: WindowTable<8>,
    twos: WindowTable<10>,
    /// Texts of one byte.
    ones: Vec<(u8, u32)>,
    /// Whether few messages have one of these bytes.
    ones_are_rare: bool,
}

/// At every so many places it is asked whether a long text is there.
const LONG_STRIDE: usize = 4;
/// How many bytes a long text has: as many windows of eight as are needed to meet one of these places.
const LONG: usize = 8 + LONG_STRIDE - 1;
/// The same for windows of five.
const MIDDLE_STRIDE: usize = 2;
const MIDDLE: usize = 5 + MIDDLE_STRIDE - 1;

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
        let (mut bytes, mut ones) = (Vec::new(), Vec::new());
        let (mut eights, mut fives, mut fours) = (Vec::new(), Vec::new(), Vec::new());
        let (mut threes, mut twos) = (Vec::new(), Vec::new());
        for (number, text) in texts {
            let mut place =
                TextPlace { text: number, start: u32_of(bytes.len()), length: u32_of(text.len()), offset: 0 };
            match *text {
                [] => {}
                [byte] => ones.push((byte, number)),
                _ => {
                    bytes.extend_from_slice(text);
                    if let [first, second] = *text {
                        twos.push((window_of([first, second, 0, 0]), place));
                    } else if let [first, second, third] = *text {
                        threes.push((window_of([first, second, third, 0]), place));
                    } else if text.len() >= LONG {
                        let rarest = rarest_window(text, LONG, &counts);
                        for (at, window) in text.array_windows().enumerate().skip(rarest).take(LONG_STRIDE) {
                            place.offset = u32_of(at);
                            eights.push((u64::from_le_bytes(*window), place));
                        }
                    } else if text.len() >= MIDDLE {
                        let rarest = rarest_window(text, MIDDLE, &counts);
                        for (at, window) in text.array_windows().enumerate().skip(rarest).take(MIDDLE_STRIDE)
                        {
                            place.offset = u32_of(at);
                            fives.push((window_of_five(*window), place));
                        }
                    } else {
                        let at = rarest_window(text, 4, &counts);
                        place.offset = u32_of(at);
                        fours.push((window_of([text[at], text[at + 1], text[at + 2], text[at + 3]]), place));
                    }
                }
            }
        }
        Self {
            bytes,
            eights: WindowTable::new(eights),
            fives: WindowTable::new(fives),
            fours: WindowTable::new(fours),
            threes: WindowTable::new(threes),
            twos: WindowTable::new(twos),
            ones_are_rare: ones.iter().all(|(byte, _)| is_rare(*byte)),
            ones,
        }
    }

    /// Calls `found` with every place of every text: its number, and where it begins. Places of one text are in order.
    pub(super) fn scan(&self, text: &FoldedText, mut found: impl FnMut(u32, usize)) {
        let bytes = text.as_bytes();
        let mut found_at = |places: &[TextPlace], at: usize| {
            for place in places {
                if let Some(start) = self.compare(place, bytes, at) {
                    found(place.text, start);
                }
            }
        };
        for (at, window) in bytes.array_windows().step_by(LONG_STRIDE).enumerate() {
            let window = u64::from_le_bytes(*window);
            if self.eights.may_have(window) {
                found_at(self.eights.places(window), at * LONG_STRIDE);
            }
        }
        for (at, window) in bytes.array_windows().step_by(MIDDLE_STRIDE).enumerate() {
            let window = window_of_five(*window);
            if self.fives.may_have(window) {
                found_at(self.fives.places(window), at * MIDDLE_STRIDE);
            }
        }
        // The last bytes begin a window too.
        for (at, window) in text.padded().array_windows().enumerate() {
            let window = window_of(*window);
            let (three, two) = (window & 0x00ff_ffff, window & 0xffff);
            let (of_four, of_three, of_two) =
                (self.fours.may_have(window), self.threes.may_have(three), self.twos.may_have(two));
            if !(of_four | of_three | of_two) {
                continue;
            }
            if of_four {
                found_at(self.fours.places(window), at);
            }
            if of_three {
                found_at(self.threes.places(three), at);
            }
            if of_two {
                found_at(self.twos.places(two), at);
            }
        }
        if !self.ones.is_empty() && (!self.ones_are_rare || bytes.iter().copied().any(is_rare)) {
            for (byte, number) in &self.ones {
                memchr_iter(*byte, bytes).for_each(|at| found(*number, at));
            }
        }
    }

    /// Where a text begins whose window is at a place.
    #[inline]
    fn compare(&self, place: &TextPlace, bytes: &[u8], at: usize) -> Option<usize> {
        let start = at.checked_sub(place.offset as usize)?;
        let (from, length) = (place.start as usize, place.length as usize);
        let there = bytes.get(start..start + length)?;
        (*there == self.bytes[from..from + length]).then_some(start)
    }
}

fn window_of_five([first, second, third, fourth, fifth]: [u8; 5]) -> u64 {
    u64::from_le_bytes([first, second, third, fourth, fifth, 0, 0, 0])
}

fn window_of(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(bytes))
}

/// About how many places of a byte begin a text, by its letters.
pub(super) fn occurrences(text: &[u8]) -> f64 {
    text.iter().map(|byte| f64::from(common(*byte)) - 13.0).sum::<f64>().exp2()
}

/// Where so many bytes begin that are the least common together, by their letters and by how many texts have four of them.
fn rarest_window(text: &[u8], length: usize, counts: &HashMap<&[u8], u32>) -> usize {
    let of_letters = |window: &[u8]| window.iter().map(|byte| common(*byte)).sum::<u32>();
    let of_count = |window: &[u8]| counts.get(window).map_or(0, |count| 4 * count.ilog2());
    let commonness = |window: &[u8]| of_letters(window) + of_count(window);
    let windows = text.windows(length).enumerate();
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
    /// Where its bytes are.
    start: u32,
    length: u32,
    offset: u32,
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
    window: u64,
    start: u32,
    end: u32,
}

impl<const WORDS: u32> WindowTable<WORDS> {
    fn new(mut windows: Vec<(u64, TextPlace)>) -> Self {
        // Where a window stands twice in a text, the first place comes first.
        windows.sort_by_key(|(window, place)| (*window, place.text, Reverse(place.offset)));
        let mut bits = vec![0; 1 << WORDS];
        let mut slots = vec![WindowSlot::default(); (windows.len() * 2).next_power_of_two().max(2)];
        let mut places: Vec<TextPlace> = Vec::new();
        for same in windows.chunk_by(|one, other| one.0 == other.0) {
            let window = same[0].0;
            let (word, mask) = Self::bits_of(window);
            bits[word] |= mask;
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

    fn mixed(window: u64) -> u64 {
        window.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The word of a window, and its two bits in it.
    #[inline]
    fn bits_of(window: u64) -> (usize, u64) {
        let mixed = Self::mixed(window);
        let word = (mixed >> (64 - WORDS)) as usize;
        (word, 1 << (mixed >> (58 - WORDS) & 63) | 1 << (mixed >> (52 - WORDS) & 63))
    }

    /// Where a window is sought first. The number of slots is a power of two.
    fn slot(window: u64, slots: usize) -> usize {
        (Self::mixed(window) >> 20) as usize & (slots - 1)
    }

    #[inline]
    fn may_have(&self, window: u64) -> bool {
        let (word, mask) = Self::bits_of(window);
        self.bits.get(word).is_some_and(|word| word & mask == mask)
    }

    fn places(&self, window: u64) -> &[TextPlace] {
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
            short in prop::collection::btree_set("[ab\u{e9}\u{1b}\u{0}]{1,6}", 1..40),
            long in prop::collection::btree_set("(ab|ba|b\u{e9}a){5,7}", 0..40),
            text in "[ab\u{e9}\u{1b}\u{0}]{0,60}|(ab|ba|b\u{e9}a){0,40}",
        ) {
            let texts: Vec<String> = short.into_iter().chain(long).collect();
            let scanner = TextScanner::new((0..).zip(texts.iter().map(String::as_bytes)));
            let mut found = Vec::new();
            let mut folded = FoldedText::default();
            folded.fold(&text);
            scanner.scan(&folded, |text, at| found.push((text as usize, at)));
            // Places of one text are in order.
            found.sort_by_key(|(text, _)| *text);
            let mut expected = Vec::new();
            for (number, wanted) in texts.iter().enumerate() {
                let places = (0..=text.len()).filter(|at| text.as_bytes()[*at..].starts_with(wanted.as_bytes()));
                expected.extend(places.map(|at| (number, at)));
            }
            prop_assert_eq!(found, expected);
        }
    }
}

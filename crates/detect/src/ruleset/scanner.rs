//! Looks for thousands of texts at once, whatever the case of their letters.
//!
//! Of each text, some bytes that are rare are kept in a table of bits. Most places of a message are passed over by one look at the table; where
//! it says that something may be there, the text is compared. Of long texts, eight bytes are kept at four places in a row, so that only every fourth
//! place of a message is looked at; of shorter ones, five bytes at two places. An automaton for so many texts does not fit the cache, and has to be told apart from the many words that begin
//! like one of them. `cargo xtask bench scan` guards it.

use std::cmp::Reverse;

use aho_corasick::packed::{Builder, Searcher};
use memchr::memchr_iter;
use sortie_expr::re2::FoldedText;

use super::sample::WindowCounts;
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
    /// Where one of these three may begin.
    short: ShortTable,
    /// Texts of one byte.
    ones: Vec<(u8, u32)>,
    /// Whether few messages have one of these bytes.
    ones_are_rare: bool,
    /// Says whether one of the texts is there at all, where there are few of them.
    few: Option<Searcher>,
}

/// At every so many places it is asked whether a long text is there.
const LONG_STRIDE: usize = 4;
/// How many bytes a long text has: as many windows of eight as are needed to meet one of these places.
const LONG: usize = 8 + LONG_STRIDE - 1;
/// The same for windows of five.
const MIDDLE_STRIDE: usize = 2;
const MIDDLE: usize = 5 + MIDDLE_STRIDE - 1;

/// So many texts are few: the registers of the processor hold something of each.
const FEW: usize = 64;

/// Whether a byte is of a character that few texts have.
fn is_rare(byte: u8) -> bool {
    !byte.is_ascii() || (byte < b' ' && !(b'\t'..=b'\r').contains(&byte))
}

/// Whether one of some bytes is rare. So many are looked at without a branch that the compiler looks at them all at once.
fn has_rare(bytes: &[u8]) -> bool {
    bytes.chunks(64).any(|some| some.iter().fold(false, |is_there, byte| is_there | is_rare(*byte)))
}

impl TextScanner {
    /// Folded texts, with the number by which each is told. `counts` says how often their windows are in messages.
    pub(super) fn new<'t>(texts: impl Iterator<Item = (u32, &'t [u8])>, counts: &WindowCounts) -> Self {
        let (mut bytes, mut ones) = (Vec::new(), Vec::new());
        let (mut eights, mut fives, mut fours) = (Vec::new(), Vec::new(), Vec::new());
        let (mut threes, mut twos, mut short) = (Vec::new(), Vec::new(), ShortTable::default());
        let mut few = Builder::new();
        for (number, text) in texts {
            if few.len() <= FEW {
                few.add(text);
            }
            let mut place =
                TextPlace { text: number, start: u32_of(bytes.len()), length: u32_of(text.len()), offset: 0 };
            match *text {
                [] => {}
                [byte] => ones.push((byte, number)),
                _ => {
                    bytes.extend_from_slice(text);
                    if let [first, second] = *text {
                        short.add_two([first, second]);
                        twos.push((window_of([first, second, 0, 0]), place));
                    } else if let [first, second, third] = *text {
                        short.add([first, second, third]);
                        threes.push((window_of([first, second, third, 0]), place));
                    } else if text.len() >= LONG {
                        let rarest = counts.rarest::<8>(text, LONG_STRIDE);
                        for (at, window) in text.array_windows().enumerate().skip(rarest).take(LONG_STRIDE) {
                            place.offset = u32_of(at);
                            eights.push((u64::from_le_bytes(*window), place));
                        }
                    } else if text.len() >= MIDDLE {
                        let rarest = counts.rarest::<5>(text, MIDDLE_STRIDE);
                        for (at, window) in text.array_windows().enumerate().skip(rarest).take(MIDDLE_STRIDE)
                        {
                            place.offset = u32_of(at);
                            fives.push((window_of_five(*window), place));
                        }
                    } else {
                        let at = counts.rarest::<4>(text, 1);
                        place.offset = u32_of(at);
                        short.add([text[at], text[at + 1], text[at + 2]]);
                        fours.push((window_of([text[at], text[at + 1], text[at + 2], text[at + 3]]), place));
                    }
                }
            }
        }
        Self {
            few: if ones.is_empty() && few.len() <= FEW { few.build() } else { None },
            bytes,
            short,
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
        if self.few.as_ref().is_some_and(|few| few.find(bytes).is_none()) {
            return;
        }
        let mut found_at = |places: &[TextPlace], at: usize| {
            for place in places {
                if let Some(start) = self.compare(place, bytes, at) {
                    found(place.text, start);
                }
            }
        };
        // Where no text is that long, nothing is looked at.
        let long = if self.eights.is_empty() { &[] } else { bytes };
        for (at, window) in long.array_windows().step_by(LONG_STRIDE).enumerate() {
            let window = u64::from_le_bytes(*window);
            if self.eights.may_have(window) {
                found_at(self.eights.places(window), at * LONG_STRIDE);
            }
        }
        let middle = if self.fives.is_empty() { &[] } else { bytes };
        for (at, window) in middle.array_windows().step_by(MIDDLE_STRIDE).enumerate() {
            let window = window_of_five(*window);
            if self.fives.may_have(window) {
                found_at(self.fives.places(window), at * MIDDLE_STRIDE);
            }
        }
        // The last bytes begin a window too.
        let short = if self.short.is_empty { &[] } else { text.padded() };
        for (at, window) in short.array_windows().enumerate() {
            let window = u32::from_le_bytes(*window);
            if self.short.may_begin(window) {
                let window = u64::from(window);
                let (three, two) = (window & 0x00ff_ffff, window & 0xffff);
                if self.fours.may_have(window) {
                    found_at(self.fours.places(window), at);
                }
                if self.threes.may_have(three) {
                    found_at(self.threes.places(three), at);
                }
                if self.twos.may_have(two) {
                    found_at(self.twos.places(two), at);
                }
            }
        }
        if !self.ones.is_empty() && (!self.ones_are_rare || has_rare(bytes)) {
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

/// How common a byte is in texts, roughly.
pub(super) fn common(byte: u8) -> u32 {
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

/// Which three bytes short texts begin with: a look at one word tells it, and those of the letters are in a few lines of the cache.
#[derive(Debug)]
struct ShortTable {
    /// By the first two bytes, a bit for the third.
    thirds: Box<[u32; 1 << 14]>,
    is_empty: bool,
}

impl Default for ShortTable {
    fn default() -> Self {
        #[allow(clippy::large_stack_arrays)] // 64 kB, which are on the stack in builds that are not optimised
        Self { thirds: Box::new([0; 1 << 14]), is_empty: true }
    }
}

impl ShortTable {
    /// The word of the first two bytes. Some share it, which are hardly ever in a text.
    #[inline]
    fn word(window: u32) -> usize {
        (window & 0x7f | window >> 1 & 0x3f80) as usize
    }

    /// Texts that begin with three bytes.
    fn add(&mut self, [first, second, third]: [u8; 3]) {
        let window = u32::from_le_bytes([first, second, third, 0]);
        self.thirds[Self::word(window)] |= 1 << (third & 31);
        self.is_empty = false;
    }

    /// Texts that begin with two bytes.
    fn add_two(&mut self, [first, second]: [u8; 2]) {
        self.thirds[Self::word(u32::from_le_bytes([first, second, 0, 0]))] = u32::MAX;
        self.is_empty = false;
    }

    #[inline]
    fn may_begin(&self, window: u32) -> bool {
        self.thirds[Self::word(window)] >> (window >> 16 & 31) & 1 == 1
    }
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

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn mixed(window: u64) -> u64 {
        window.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The word of a window, and its two bits in it.
    #[inline]
    fn bits_of(window: u64) -> (usize, u64) {
        let mixed = Self::mixed(window);
        #[allow(clippy::cast_possible_truncation)] // it has `WORDS` bits
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
            has_ones: bool,
            text in "[ab\u{e9}\u{1b}\u{0}]{0,60}|(ab|ba|b\u{e9}a){0,40}",
            counted: bool,
        ) {
            // With texts of one byte, nothing says of a text that none of them is there.
            let texts = short.into_iter().chain(long).filter(|text| has_ones || text.len() > 1);
            let texts: Vec<String> = texts.collect();
            let mut counts = WindowCounts::default();
            if counted {
                let mut folded = FoldedText::default();
                folded.fold("abababba");
                counts.add(&folded);
            }
            let scanner = TextScanner::new((0..).zip(texts.iter().map(String::as_bytes)), &counts);
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

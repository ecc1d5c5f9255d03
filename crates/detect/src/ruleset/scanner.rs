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
    eights: WindowTable<0x2000>,
    /// Other texts of at least `MIDDLE` bytes, by five of them.
    fives: WindowTable<0x800>,
    /// Other texts of at least four bytes, by four of them.
    fours: WindowTable<0x200>,
    /// Texts of three and of two bytes.
    threes: WindowTable<0x100>,
    twos: WindowTable<0x400>,
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
            let (start, length) = (u32_of(bytes.len()), u32_of(text.len()));
            let mut place = TextPlace { text: number, start, length, offset: 0, is_last: false };
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
        let mut found_at = |place: &TextPlace, at: usize| {
            if let Some(start) = self.compare(place, bytes, at) {
                found(place.text, start);
            }
        };
        // One read of eight bytes serves four places. Zeros follow the text, so that its last bytes begin windows too.
        for (step, window) in text.padded().array_windows().step_by(LONG_STRIDE).enumerate() {
            let (at, window) = (step * LONG_STRIDE, u64::from_le_bytes(*window));
            let fives = [window & FIVE, window >> (8 * MIDDLE_STRIDE) & FIVE];
            let is_long = self.eights.may_have(window);
            let are_middle = fives.map(|window| self.fives.may_have(window));
            let may_begin = [0, 8, 16, 24].map(|bits| self.short.may_begin(window >> bits));
            // Without a branch for each of the seven.
            let is_any = are_middle.iter().chain(&may_begin).fold(is_long, |is_any, one| is_any | one);
            if !is_any {
                continue;
            }
            if is_long {
                self.eights.places(window, |place| found_at(place, at));
            }
            for ((is_middle, window), offset) in are_middle.into_iter().zip(fives).zip([0, MIDDLE_STRIDE]) {
                if is_middle {
                    self.fives.places(window, |place| found_at(place, at + offset));
                }
            }
            for (offset, _) in may_begin.into_iter().enumerate().filter(|(_, may_begin)| *may_begin) {
                let (window, at) = (window >> (8 * offset), at + offset);
                let (four, three, two) = (window & 0xffff_ffff, window & 0x00ff_ffff, window & 0xffff);
                if self.fours.may_have(four) {
                    self.fours.places(four, |place| found_at(place, at));
                }
                if self.threes.may_have(three) {
                    self.threes.places(three, |place| found_at(place, at));
                }
                if self.twos.may_have(two) {
                    self.twos.places(two, |place| found_at(place, at));
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

/// The bits of five bytes.
const FIVE: u64 = 0xff_ffff_ffff;

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
    /// Whether no other place has the same window.
    is_last: bool,
}

/// Which three bytes short texts begin with: a look at one word tells it, and those of the letters are in a few lines of the cache.
#[derive(Debug)]
struct ShortTable {
    /// By the first two bytes, a bit for the third.
    thirds: Box<[u32; 1 << 14]>,
}

impl Default for ShortTable {
    fn default() -> Self {
        #[allow(clippy::large_stack_arrays)] // 64 kB, which are on the stack in builds that are not optimised
        Self { thirds: Box::new([0; 1 << 14]) }
    }
}

impl ShortTable {
    /// The word of the first two bytes. Some share it, which are hardly ever in a text.
    #[inline]
    fn word(window: u64) -> usize {
        #[allow(clippy::cast_possible_truncation)] // it has 14 bits
        let word = (window & 0x7f | window >> 1 & 0x3f80) as usize;
        word
    }

    /// Texts that begin with three bytes.
    fn add(&mut self, [first, second, third]: [u8; 3]) {
        let window = window_of([first, second, third, 0]);
        self.thirds[Self::word(window)] |= 1 << (third & 31);
    }

    /// Texts that begin with two bytes.
    fn add_two(&mut self, [first, second]: [u8; 2]) {
        self.thirds[Self::word(window_of([first, second, 0, 0]))] = u32::MAX;
    }

    #[inline]
    fn may_begin(&self, window: u64) -> bool {
        self.thirds[Self::word(window)] >> (window >> 16 & 31) & 1 == 1
    }
}

/// Texts by a few of their bytes. The table of bits has `WORDS` words, a power of two.
#[derive(Debug)]
struct WindowTable<const WORDS: usize> {
    bits: Box<[u64; WORDS]>,
    /// For each window, half of its hash and where its places begin, sought from the slot that the other half says; zero where there is none.
    /// Small, since the cache is to hold them.
    slots: Vec<u64>,
    /// The last of a window says so.
    places: Vec<TextPlace>,
}

impl<const WORDS: usize> WindowTable<WORDS> {
    /// How many bits the number of a word has.
    const NUMBER_BITS: u32 = WORDS.trailing_zeros();

    fn new(mut windows: Vec<(u64, TextPlace)>) -> Self {
        // Where a window stands twice in a text, the first place comes first.
        windows.sort_by_key(|(window, place)| (*window, place.text, Reverse(place.offset)));
        let mut bits = Box::new([0; WORDS]);
        let mut slots = vec![0; (windows.len() * 3 / 2).next_power_of_two().max(2)];
        let mut places: Vec<TextPlace> = Vec::new();
        for same in windows.chunk_by(|one, other| one.0 == other.0) {
            let window = same[0].0;
            let (word, mask) = Self::bits_of(window);
            bits[word] |= mask;
            let (mut slot, hash) = Self::slot(window, slots.len());
            while slots[slot] != 0 {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = hash | places.len() as u64;
            places.extend(same.iter().map(|(_, place)| place));
            if let Some(last) = places.last_mut() {
                last.is_last = true;
            }
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
        let bits = Self::NUMBER_BITS;
        #[allow(clippy::cast_possible_truncation)] // it has so many bits
        let word = (mixed >> (64 - bits)) as usize & (WORDS - 1);
        (word, 1 << (mixed >> (58 - bits) & 63) | 1 << (mixed >> (52 - bits) & 63))
    }

    /// Where a window is sought first, and the half of its hash that is kept, which is not zero. The number of slots is a power of two.
    fn slot(window: u64, slots: usize) -> (usize, u64) {
        let mixed = Self::mixed(window);
        #[allow(clippy::cast_possible_truncation)] // it is less than the number of slots
        let slot = (mixed >> 20) as usize & (slots - 1);
        (slot, (mixed | 1 << 32) & !u64::from(u32::MAX))
    }

    #[inline]
    fn may_have(&self, window: u64) -> bool {
        let (word, mask) = Self::bits_of(window);
        self.bits[word] & mask == mask
    }

    /// Calls `found` with the places of a window, and with those of others that have the same half of a hash.
    fn places(&self, window: u64, mut found: impl FnMut(&TextPlace)) {
        let (mut slot, hash) = Self::slot(window, self.slots.len());
        while self.slots[slot] != 0 {
            if self.slots[slot] & !u64::from(u32::MAX) == hash {
                #[allow(clippy::cast_possible_truncation)] // it has 32 bits
                let start = (self.slots[slot] & u64::from(u32::MAX)) as usize;
                for place in &self.places[start..] {
                    found(place);
                    if place.is_last {
                        break;
                    }
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
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

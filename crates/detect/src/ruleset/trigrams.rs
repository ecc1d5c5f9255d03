//! Says of most texts at once that they are not part of another one.

use super::scanner::common;

/// So many bits stand for the trigrams of a text.
const BITS: u32 = 15;
/// So many for those of a short one.
const FEW_BITS: u32 = 12;
/// How many bytes a short text has.
const SHORT: usize = 512;

/// Two trigrams of a text that is looked for; `NONE` where it is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextTrigrams([u16; 2]);

/// The number of no trigram.
const NONE: u16 = u16::MAX;

impl TextTrigrams {
    /// The two of a text that are the least common, by their letters.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut trigrams: Vec<[u8; 3]> = text.array_windows().copied().collect();
        trigrams.sort_by_key(|trigram| trigram.map(common).iter().sum::<u32>());
        let mut rarest = trigrams.into_iter().map(number);
        let first = rarest.next().unwrap_or(NONE);
        Self([first, rarest.find(|other| *other != first).unwrap_or(first)])
    }
}

/// Which trigrams a text has, with some that it has not.
#[derive(Clone, Debug)]
pub(super) struct Trigrams {
    bits: [u64; 1 << (BITS - 6)],
    /// By how much the number of a trigram is shifted to be that of its bit.
    shift: u32,
}

impl Default for Trigrams {
    fn default() -> Self {
        Self { bits: [0; 1 << (BITS - 6)], shift: 0 }
    }
}

impl Trigrams {
    /// Takes those of a text, in place of those before.
    pub(super) fn sum(&mut self, text: &[u8]) {
        let bits = if text.len() <= SHORT { FEW_BITS } else { BITS };
        self.shift = BITS - bits;
        let words = &mut self.bits[..1 << (bits - 6)];
        words.fill(0);
        for trigram in text.array_windows() {
            let bit = number(*trigram) >> self.shift;
            words[usize::from(bit >> 6)] |= 1 << (bit & 63);
        }
    }

    /// Whether a text may be part of it.
    pub(super) fn may_have(&self, TextTrigrams(text): TextTrigrams) -> bool {
        let has = |number: u16| {
            let bit = number >> self.shift;
            number == NONE || self.bits[usize::from(bit >> 6)] >> (bit & 63) & 1 == 1
        };
        text.into_iter().all(has)
    }
}

/// A number below 2^`BITS`.
fn number([first, second, third]: [u8; 3]) -> u16 {
    let mixed = u32::from_le_bytes([first, second, third, 0]).wrapping_mul(0x9e37_79b1);
    // The upper bits are the best mixed.
    (mixed >> (32 - BITS)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_part_of_a_text_may_always_be_there(text in "[a-c]{0,8}", before in "[a-z ]{0,600}", after in "[a-z ]{0,9}") {
            let mut trigrams = Trigrams::default();
            trigrams.sum(b"something else that was there before");
            trigrams.sum(format!("{before}{text}{after}").as_bytes());
            prop_assert!(trigrams.may_have(TextTrigrams::of(text.as_bytes())));
        }
    }

    #[test]
    fn most_texts_are_told_not_to_be_there() {
        let mut trigrams = Trigrams::default();
        for text in ["ignore all previous instructions".to_owned(), "the quick brown fox ".repeat(40)] {
            trigrams.sum(text.as_bytes());
            let words = ["password", "curl", "send", "exfiltrate", "transfer", "secret", "token", "delete"];
            let may_be = words.iter().filter(|word| trigrams.may_have(TextTrigrams::of(word.as_bytes())));
            assert!(may_be.count() <= 1, "{text}");
        }
    }
}

//! Texts as they are searched for the words that patterns need.
//!
//! Patterns say `you\s+must`, and texts have a space, a line feed or ten spaces there. So ASCII letters are folded to lower case, and each run of
//! white space to one space: then `you must` is one word, and there is one way to write it.

/// A text with ASCII letters in lower case and one space for each run of white space.
///
/// White space is what `[\s\v\pZ\x{FEFF}]` matches, which is `\s` of JavaScript and more than `\s` of RE2.
///
/// ```
/// use sortie_expr::re2::FoldedText;
///
/// let mut folded = FoldedText::default();
/// folded.fold("You\r\n  MUST\u{a0}go");
/// assert_eq!(folded.as_bytes(), b"you must go");
/// // The space after `You` stands for four bytes, and `m` for one.
/// assert_eq!(folded.origin(3), 3..7);
/// assert_eq!(folded.origin(4), 7..8);
/// ```
#[derive(Clone, Debug, Default)]
pub struct FoldedText {
    /// The bytes, and seven more that are zero.
    bytes: Vec<u8>,
    /// Places after which a byte stands elsewhere than in the text: in the bytes, and in the text.
    shifts: Vec<(usize, usize)>,
    /// The text, if it is short.
    source: String,
    /// How many bytes it has.
    length: usize,
}

/// So long is a text that is kept, in bytes: one that was folded last is not folded again.
const LONGEST_KEPT: usize = 1 << 16;

/// How many zeros follow the bytes.
const PADDING: usize = 7;

/// What a byte is folded to; zero where more than the byte decides.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)] // it is below 256
        let letter = byte as u8;
        let is_special = is_ascii_space(letter) && letter != b' ' || may_begin_space(letter);
        folded[byte] = if is_special { 0 } else { letter.to_ascii_lowercase() };
        byte += 1;
    }
    folded
};

/// So many bytes are looked at together.
const BLOCK: usize = 16;

/// Whether nothing but the case of letters changes in a block that stands behind no space. Without a branch, so that the compiler looks at all
/// bytes at once.
fn is_even(block: &[u8; BLOCK]) -> bool {
    let is_special = |byte: u8| byte & 0x80 | u8::from(byte.wrapping_sub(b'\t') < 5);
    let special = block.iter().fold(0, |special, byte| special | is_special(*byte));
    let is_space = block.map(|byte| u8::from(byte == b' '));
    let doubled = is_space.iter().zip(&is_space[1..]).fold(0, |doubled, (one, next)| doubled | (one & next));
    special | doubled == 0
}

const fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Whether white space beyond ASCII may begin with a byte.
const fn may_begin_space(byte: u8) -> bool {
    matches!(byte, 0xc2 | 0xe1 | 0xe2 | 0xe3 | 0xef)
}

/// Whether a character is white space.
pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

impl FoldedText {
    /// Folds a text, in place of the one before.
    pub fn fold(&mut self, text: &str) {
        let Self { bytes, shifts, source: kept, length } = self;
        if !kept.is_empty() && kept == text {
            return;
        }
        kept.clear();
        if text.len() <= LONGEST_KEPT {
            kept.push_str(text);
        }
        shifts.clear();
        *length = text.len();
        bytes.clear();
        // Nothing gets longer.
        bytes.resize(text.len() + PADDING, 0);
        let source = text.as_bytes();
        let (mut from, mut to, mut last) = (0, 0, 0);
        // Up to here, bytes are looked at one by one.
        let mut uneven = 0;
        while let Some(byte) = source.get(from) {
            // Most blocks are lowered as a whole.
            if from >= uneven
                && let Some(block) = source[from..].first_chunk()
            {
                if (last == b' ' && block[0] == b' ') || !is_even(block) {
                    uneven = from + BLOCK;
                    continue;
                }
                bytes[to..to + BLOCK].copy_from_slice(&block.map(|byte| byte.to_ascii_lowercase()));
                (from, to, last) = (from + BLOCK, to + BLOCK, block[BLOCK - 1]);
                continue;
            }
            let folded = FOLDED[usize::from(*byte)];
            // A byte that is zero is folded to zero.
            if (folded != 0 || *byte == 0) && !(folded == b' ' && last == b' ') {
                bytes[to] = folded;
                (from, to, last) = (from + 1, to + 1, folded);
                continue;
            }
            let letter = text[from..].chars().next().unwrap_or(' ');
            let width = letter.len_utf8();
            if is_space(letter) {
                if last != b' ' {
                    bytes[to] = b' ';
                    to += 1;
                }
                last = b' ';
                from += width;
                let before = shifts.last().map_or(0, |(to, from)| from - to);
                if from - to != before {
                    shifts.push((to, from));
                }
            } else {
                let lower = &mut bytes[to..to + width];
                lower.copy_from_slice(&source[from..from + width]);
                lower.make_ascii_lowercase();
                (from, to, last) = (from + width, to + width, 0);
            }
        }
        bytes.truncate(to);
        bytes.extend([0; PADDING]);
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().saturating_sub(PADDING)]
    }

    /// The bytes, and seven zeros.
    pub fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// Which bytes of the text a byte stands for.
    pub fn origin(&self, at: usize) -> std::ops::Range<usize> {
        self.place(at)..self.place(at + 1)
    }

    fn place(&self, at: usize) -> usize {
        // The last of the shifts at one place counts: there is one for each character of a run.
        let known = self.shifts.partition_point(|(to, _)| *to <= at);
        let (to, from) = known.checked_sub(1).map_or((0, 0), |last| self.shifts[last]);
        (from + (at - to)).min(self.length)
    }
}

/// Text that is part of a pattern, folded.
pub(super) fn fold(text: &str) -> Vec<u8> {
    let mut folded = FoldedText::default();
    folded.fold(text);
    folded.as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::re2::Regex;

    fn text() -> impl Strategy<Value = String> {
        let letters = [
            "A",
            "z",
            " ",
            "\n",
            "\u{b}",
            "\u{a0}",
            "\u{2028}",
            "\u{3000}",
            "\u{feff}",
            "\u{0}",
            "é",
            "–",
            "\u{e000}",
            "😀",
            "Words of ASCII, and more than a block of them",
            "two  spaces, and three   of them, in one block",
        ];
        prop::collection::vec(prop::sample::select(letters.to_vec()), 0..20)
            .prop_map(|letters| letters.concat())
    }

    proptest! {
        #[test]
        fn every_byte_stands_for_a_letter_or_a_run(text in text()) {
            let mut folded = FoldedText::default();
            folded.fold("what was there before");
            folded.fold(&text);
            // The same text again is not folded again.
            folded.fold(&text);
            let (mut expected, mut origins) = (Vec::new(), Vec::new());
            let mut at = 0;
            while let Some(letter) = text[at..].chars().next() {
                let run: usize = text[at..].chars().take_while(|letter| is_space(*letter)).map(char::len_utf8).sum();
                if run > 0 {
                    expected.push(b' ');
                    origins.push(at..at + run);
                    at += run;
                } else {
                    for byte in at..at + letter.len_utf8() {
                        expected.push(text.as_bytes()[byte].to_ascii_lowercase());
                        origins.push(byte..byte + 1);
                    }
                    at += letter.len_utf8();
                }
            }
            prop_assert_eq!(folded.as_bytes(), &*expected);
            prop_assert_eq!(folded.padded(), [&*expected, &[0; 7]].concat());
            for (at, origin) in origins.into_iter().enumerate() {
                prop_assert_eq!(folded.origin(at), origin, "{} of {:?}", at, text);
            }
        }
    }

    #[test]
    fn white_space_is_that_of_javascript() {
        let pattern = Regex::new(r"^[\s\v\pZ\x{FEFF}]$").unwrap();
        for letter in (0..=0x10_ffff).filter_map(char::from_u32) {
            assert_eq!(is_space(letter), pattern.is_match(letter.encode_utf8(&mut [0; 4])), "{letter:?}");
        }
    }
}

//! Bytes without which a pattern cannot match.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How many sets of bytes stand for an alternative.
const MOST_SETS: usize = 4;

/// How many characters have one byte.
const ASCII: usize = 128;
/// How many bytes end a character of several.
const LAST_BYTES: usize = 64;

/// So many full stops, commas or lines are more than most texts have.
const MANY: u32 = 8;

/// Bytes of a set, of which every match of an alternative holds so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequiredBytes {
    /// The bytes that count.
    pub set: ByteSet,
    /// How many of them there are at least.
    pub count: u32,
}

/// Some bytes, with ASCII letters in lower case. Of a character beyond ASCII, the last byte counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    fn of(text: &[u8]) -> Self {
        let mut set = Self::default();
        for byte in text {
            set.add(*byte);
        }
        set
    }

    fn add(&mut self, byte: u8) {
        let byte = byte.to_ascii_lowercase();
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn has(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    fn len(self) -> u32 {
        self.0.iter().map(|bits| bits.count_ones()).sum()
    }

    fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(one, other)| one & other != 0)
    }

    fn with(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(one, other)| *one |= other);
        self
    }
}

/// How often a text has each byte of a [`ByteSet`].
#[derive(Clone, Debug)]
pub struct ByteCounts([u32; 256]);

impl Default for ByteCounts {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl ByteCounts {
    /// Counts the bytes of a text.
    ///
    /// ```
    /// use sortie_expr::re2::{ByteCounts, Regex};
    ///
    /// let regex = Regex::new("(?:- *){3}")?;
    /// let needed = regex.required_clauses().unwrap()[0].bytes[0];
    /// assert!(ByteCounts::of(b"- - -").has(needed));
    /// assert!(!ByteCounts::of(b"well-known").has(needed));
    /// # Ok::<(), sortie_expr::re2::Re2Error>(())
    /// ```
    pub fn of(text: &[u8]) -> Self {
        let mut counts = Self::default();
        counts.count(text);
        counts
    }

    /// The same, in place of what was counted before.
    pub fn count(&mut self, text: &[u8]) {
        let counts = &mut self.0;
        counts.fill(0);
        for byte in text {
            counts[usize::from(*byte)] += 1;
        }
        for upper in b'A'..=b'Z' {
            let count = std::mem::take(&mut counts[usize::from(upper)]);
            counts[usize::from(upper.to_ascii_lowercase())] += count;
        }
    }

    /// Whether there are as many as a match needs.
    pub fn has(&self, RequiredBytes { set, count }: RequiredBytes) -> bool {
        let mut found = 0;
        for (word, mut bits) in set.0.into_iter().enumerate() {
            while bits != 0 && found < count {
                found += self.0[64 * word + bits.trailing_zeros() as usize];
                bits &= bits - 1;
            }
        }
        found >= count
    }
}

/// Bytes of which every match holds some: signs and digits, since letters and spaces are everywhere.
pub(super) fn required_bytes(parts: &[&Hir]) -> Vec<RequiredBytes> {
    let mut all = Vec::new();
    for part in parts {
        add_bytes(part, 1, &mut all);
    }
    all.retain(is_telling);
    all.sort_by_key(|RequiredBytes { set, count }| (set.len(), std::cmp::Reverse(*count), *set));
    all.truncate(MOST_SETS);
    all
}

/// Adds the bytes that so many matches hold together.
// The parser bounds how deep expressions nest.
fn add_bytes(hir: &Hir, times: u32, all: &mut Vec<RequiredBytes>) {
    let mut add = |set: ByteSet, count: u32| match all.iter_mut().find(|known| known.set == set) {
        Some(known) => known.count = known.count.saturating_add(count),
        None => all.push(RequiredBytes { set, count }),
    };
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.iter().for_each(|byte| add(ByteSet::of(&[*byte]), times)),
        HirKind::Class(class) => {
            add(bytes_of(class), times);
            add(first_bytes_of(class), times);
        }
        HirKind::Capture(capture) => add_bytes(&capture.sub, times, all),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            add_bytes(&repetition.sub, times.saturating_mul(repetition.min), all);
        }
        HirKind::Concat(parts) => parts.iter().for_each(|part| add_bytes(part, times, all)),
        HirKind::Alternation(parts) => {
            let each = parts.iter().map(|part| required_bytes(&[part]).first().copied());
            let either = each.reduce(|one, other| {
                let (one, other) = (one?, other?);
                let set = one.set.with(other.set);
                Some(RequiredBytes { set, count: one.count.min(other.count) })
            });
            if let Some(RequiredBytes { set, count }) = either.flatten() {
                add(set, count.saturating_mul(times));
            }
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Repetition(_) => {}
    }
}

/// Whether many texts have fewer of these bytes.
fn is_telling(RequiredBytes { set, count }: &RequiredBytes) -> bool {
    let is_rare = !set.meets(ByteSet::of(b"\n.,")) || *count >= MANY;
    set.len() > 0 && is_rare && !set.meets(ByteSet::of(b"abcdefghijklmnopqrstuvwxyz "))
}

fn bytes_of(class: &Class) -> ByteSet {
    let mut set = ByteSet::default();
    match class {
        Class::Unicode(class) => {
            for range in class.iter() {
                // After so many characters every last byte was there.
                for letter in (range.start()..=range.end()).take(ASCII + LAST_BYTES) {
                    set.add(last_byte(letter));
                }
            }
        }
        Class::Bytes(class) => {
            class.iter().for_each(|range| (range.start()..=range.end()).for_each(|byte| set.add(byte)));
        }
    }
    set
}

/// The first bytes of characters that are beyond ASCII and not among those of most texts: accents, dashes and emoji are. Empty where others are in
/// the class too.
fn first_bytes_of(class: &Class) -> ByteSet {
    let Class::Unicode(class) = class else { return ByteSet::default() };
    let mut set = ByteSet::default();
    for range in class.iter() {
        let [first, last] =
            [range.start(), range.end()].map(|letter| letter.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        (first..=last).for_each(|byte| set.add(byte));
    }
    let is_common = (0..0x80).chain([0xc2, 0xc3, 0xe2, 0xf0]).any(|byte| set.has(byte));
    if is_common { ByteSet::default() } else { set }
}

fn last_byte(letter: char) -> u8 {
    *letter.encode_utf8(&mut [0; 4]).as_bytes().last().unwrap_or(&0)
}

#[cfg(test)]
mod tests {
    use super::{ByteCounts, ByteSet, RequiredBytes};
    use crate::re2::Regex;

    #[test]
    fn signs_and_digits_are_needed_too() {
        let sets = |pattern: &str| Regex::new(pattern).unwrap().required_clauses().unwrap()[0].bytes.clone();
        let needed =
            |(text, count): &(&str, u32)| RequiredBytes { set: ByteSet::of(text.as_bytes()), count: *count };
        let expected = |all: &[(&str, u32)]| all.iter().map(needed).collect::<Vec<_>>();
        assert_eq!(sets(r"or\s+'?1\s*=[ x]"), expected(&[("1", 1), ("=", 1)]));
        assert_eq!(sets(r"[0-9](?:;|[|&]+x){2}"), expected(&[(";|&", 2), ("0123456789", 1)]));
        assert_eq!(sets(r"(?:-\s*){3,}x?-"), expected(&[("-", 4)]));
        assert_eq!(sets(r"word\.(?:[0-9]\.){7}"), expected(&[(".", 8), ("0123456789", 7)]));
        assert_eq!(sets("word(?:=|x)"), expected(&[]));
        // Zero-width characters need nothing that dashes and quotation marks have.
        let foreign = sets("[\u{200b}\u{200d}\u{2060}]{3}")[0];
        assert!(ByteCounts::of("\u{200b}\u{200d}\u{200b}".as_bytes()).has(foreign));
        assert!(!ByteCounts::of("“one” – ‘two’ …".as_bytes()).has(foreign));
        // Letters of another script begin with bytes that no others begin with.
        let cyrillic = sets("[аеор]{2}")[0];
        assert!(ByteCounts::of("Яре".as_bytes()).has(cyrillic));
        assert!(!ByteCounts::of("“one” – °µ¾ ‘two’ é".as_bytes()).has(cyrillic));
        let control = sets(r"[\x00\x7f]{3}")[0];
        assert!(ByteCounts::of(b"\x00\x7f\x7f").has(control));
        assert!(!ByteCounts::of("жжж".as_bytes()).has(control));
    }
}

//! Bytes without which a pattern cannot match.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How many sets of bytes stand for an alternative.
const MOST_SETS: usize = 4;

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

/// Some bytes, with ASCII letters in lower case. All bytes of characters beyond ASCII count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSet(u128);

impl ByteSet {
    fn of(text: &[u8]) -> Self {
        let mut set = Self::default();
        for byte in text {
            set.add(*byte);
        }
        set
    }

    fn add(&mut self, byte: u8) {
        self.0 |= 1 << Self::bit(byte);
    }

    /// The bit of a byte. DELETE has that of NUL: the last one is for what is not ASCII.
    fn bit(byte: u8) -> u8 {
        match byte {
            0x7f => 0,
            0x80.. => 127,
            _ => byte.to_ascii_lowercase(),
        }
    }

    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
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
            counts[usize::from(byte.to_ascii_lowercase())] += 1;
        }
        counts[0] += counts[0x7f];
        counts[127] = counts[0x80..].iter().sum();
    }

    /// Whether there are as many as a match needs.
    pub fn has(&self, RequiredBytes { set, count }: RequiredBytes) -> bool {
        let (mut bits, mut found) = (set.0, 0);
        while bits != 0 && found < count {
            found += self.0[bits.trailing_zeros() as usize];
            bits &= bits - 1;
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
    all.sort_by_key(|RequiredBytes { set, count }| (set.0.count_ones(), std::cmp::Reverse(*count), *set));
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
        HirKind::Class(class) => add(bytes_of(class), times),
        HirKind::Capture(capture) => add_bytes(&capture.sub, times, all),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            add_bytes(&repetition.sub, times.saturating_mul(repetition.min), all);
        }
        HirKind::Concat(parts) => parts.iter().for_each(|part| add_bytes(part, times, all)),
        HirKind::Alternation(parts) => {
            let each = parts.iter().map(|part| required_bytes(&[part]).first().copied());
            let either = each.reduce(|one, other| {
                let (one, other) = (one?, other?);
                let set = ByteSet(one.set.0 | other.set.0);
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
    set.0 != 0 && is_rare && !set.meets(ByteSet::of(b"abcdefghijklmnopqrstuvwxyz "))
}

fn bytes_of(class: &Class) -> ByteSet {
    let mut set = ByteSet::default();
    let mut add = |first: u32, last: u32| {
        (first..=last.min(128)).for_each(|byte| set.add(u8::try_from(byte).unwrap_or(u8::MAX)));
    };
    match class {
        Class::Unicode(class) => {
            class.iter().for_each(|range| add(u32::from(range.start()).min(128), u32::from(range.end())));
        }
        Class::Bytes(class) => {
            class.iter().for_each(|range| add(u32::from(range.start()).min(128), u32::from(range.end())));
        }
    }
    set
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
        let foreign = RequiredBytes { set: ByteSet::of("Ä".as_bytes()), count: 2 };
        assert!(ByteCounts::of("ж".as_bytes()).has(foreign));
        let control = sets(r"[\x00\x7f]{3}")[0];
        assert!(ByteCounts::of(b"\x00\x7f\x7f").has(control));
        assert!(!ByteCounts::of("жжж".as_bytes()).has(control));
    }
}

//! How often short pieces of text are in the traffic, as far as it was seen.
//!
//! The first texts that are looked at are counted, for all classes of messages together: how rare a word is depends on who speaks, and much less on
//! the operation it is spoken in.

use std::sync::{Mutex, OnceLock};

use sortie_expr::re2::FoldedText;

use super::scanner::common;

/// So many bytes of texts are counted.
const COUNTED_BYTES: usize = 1 << 18;

/// The texts that were looked at first.
#[derive(Debug, Default)]
pub(super) struct TrafficSample {
    counts: OnceLock<WindowCounts>,
    counting: Mutex<Counting>,
}

#[derive(Debug, Default)]
struct Counting {
    bytes: usize,
    counts: WindowCounts,
}

impl TrafficSample {
    /// What was counted, once that is enough.
    pub(super) fn counts(&self) -> Option<&WindowCounts> {
        self.counts.get()
    }

    /// Counts a text, unless there were enough.
    pub(super) fn add(&self, text: &FoldedText) {
        if self.counts.get().is_some() {
            return;
        }
        // Where another thread is counting, its texts do as well.
        let Ok(mut counting) = self.counting.try_lock() else { return };
        counting.bytes += text.as_bytes().len();
        counting.counts.add(text);
        if counting.bytes >= COUNTED_BYTES {
            let counts = std::mem::take(&mut counting.counts);
            self.counts.get_or_init(|| counts);
        }
    }
}

/// How often windows of one to eight bytes are in some texts, roughly.
#[derive(Debug, Default)]
pub(super) struct WindowCounts {
    /// By a number of the window, which others may have too. Empty where nothing was counted.
    counts: Vec<u16>,
}

/// So many bits has the number of a window.
const NUMBER_BITS: u32 = 21;

impl WindowCounts {
    /// Counts the windows of a text.
    pub(super) fn add(&mut self, text: &FoldedText) {
        self.counts.resize(1 << NUMBER_BITS, 0);
        self.add_windows::<1>(text);
        self.add_windows::<2>(text);
        self.add_windows::<3>(text);
        self.add_windows::<4>(text);
        self.add_windows::<5>(text);
        self.add_windows::<8>(text);
    }

    fn add_windows<const LENGTH: usize>(&mut self, text: &FoldedText) {
        for window in text.as_bytes().array_windows() {
            let count = &mut self.counts[number::<LENGTH>(window)];
            *count = count.saturating_add(1);
        }
    }

    /// How often a text was there at most.
    pub(super) fn of(&self, text: &[u8]) -> u16 {
        match text.len() {
            0 => u16::MAX,
            1 => self.of_windows::<1>(text),
            2 => self.of_windows::<2>(text),
            3 => self.of_windows::<3>(text),
            4 => self.of_windows::<4>(text),
            5..8 => self.of_windows::<5>(text),
            _ => self.of_windows::<8>(text),
        }
    }

    fn of_windows<const LENGTH: usize>(&self, text: &[u8]) -> u16 {
        text.array_windows().map(|window| self.of_window::<LENGTH>(window)).min().unwrap_or(u16::MAX)
    }

    fn of_window<const LENGTH: usize>(&self, window: &[u8; LENGTH]) -> u16 {
        self.counts.get(number(window)).copied().unwrap_or(0)
    }

    /// Where the first of so many windows in a row begins that are the least common together; where they are as common, by their letters.
    pub(super) fn rarest<const LENGTH: usize>(&self, text: &[u8], windows: usize) -> usize {
        let counts: Vec<u32> =
            text.array_windows().map(|window| u32::from(self.of_window::<LENGTH>(window))).collect();
        let places = counts.windows(windows).zip(text.windows(LENGTH + windows - 1)).enumerate();
        let commonness = |(_, (counts, bytes)): &(usize, (&[u32], &[u8]))| {
            (counts.iter().sum::<u32>(), bytes.iter().map(|byte| common(*byte)).sum::<u32>())
        };
        places.min_by_key(commonness).map_or(0, |(at, _)| at)
    }
}

fn number<const LENGTH: usize>(window: &[u8; LENGTH]) -> usize {
    let mut bytes = [0; 8];
    bytes[..LENGTH].copy_from_slice(window);
    let mixed = (u64::from_le_bytes(bytes) ^ LENGTH as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - NUMBER_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> FoldedText {
        let mut folded = FoldedText::default();
        folded.fold(text);
        folded
    }

    #[test]
    fn a_text_is_as_rare_as_the_rarest_piece_of_it() {
        let mut counts = WindowCounts::default();
        for _ in 0..3 {
            counts.add(&folded("Ignore all previous instructions"));
        }
        counts.add(&folded("instructions"));
        for (text, count) in [("instructions", 4), ("previous instructions", 3), ("all previous orders", 0)] {
            assert_eq!(counts.of(text.as_bytes()), count, "{text}");
        }
        assert!(counts.of(b"i") > counts.of(b"g"), "letters are counted too");
        // `orders` was not there, and the two windows before it were.
        assert!(counts.rarest::<8>(b"previous orders", 4) >= 2);
    }

    #[test]
    fn counting_ends() {
        let sample = TrafficSample::default();
        let text = folded(&"word ".repeat(10_000));
        let before = (0..100).take_while(|_| {
            sample.add(&text);
            sample.counts().is_none()
        });
        assert_eq!(before.count(), COUNTED_BYTES / text.as_bytes().len());
    }
}

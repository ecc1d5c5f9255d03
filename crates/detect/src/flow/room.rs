//! How much a flow keeps: which texts count, and how much room they take.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hasher};

use sortie_oatf::extension::flow::Decoding;

use super::reading::{Decodings, Reading, each_reading};

/// As much text is kept of what came in, and as much of what was known before. An agent holds less in mind at a time.
pub const MOST_TEXT: usize = 1 << 20;

/// How a text got to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// By the source.
    CameIn,
    /// In any other way.
    Known,
}

/// At least as much room as texts take that nobody has measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MostRoom {
    pub(super) came_in: usize,
    pub(super) known: usize,
}

/// The room that the texts of a flow take. An index takes its texts by it; where nothing leaves, it alone says whether they fit.
#[derive(Clone, Debug)]
pub(super) struct FlowRoom {
    length: usize,
    decode: Decodings,
    came_in: usize,
    known: usize,
    /// Texts that are there already, by their digest.
    texts: HashSet<u64, BuildHasherDefault<DigestHasher>>,
    is_full: bool,
}

impl FlowRoom {
    pub(super) fn new(min_length: usize, decode: &[Decoding]) -> Self {
        Self {
            length: min_length.max(1),
            decode: Decodings::new(decode),
            came_in: 0,
            known: 0,
            texts: HashSet::default(),
            is_full: false,
        }
    }

    /// About how many bytes of memory it takes.
    pub(super) fn memory(&self) -> usize {
        // A word, and a byte that says whether it is there.
        9 * self.texts.capacity()
    }

    /// Whether something was left out.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether there is room for so much more that comes in, and that is known.
    pub(super) fn fits(&self, more: MostRoom) -> bool {
        self.came_in.saturating_add(more.came_in) <= MOST_TEXT
            && self.known.saturating_add(more.known) <= MOST_TEXT
    }

    /// Whether a text counts: it is long enough and new, and nothing was left out before it. Whether a text was known before cannot be
    /// said when not all of that is kept.
    pub(super) fn admits(&mut self, way: Way, text: &str) -> bool {
        text.len() >= self.length && !self.is_full && self.texts.insert(digest(way, text))
    }

    /// Whether a text took room before, or is too short to take any.
    pub(super) fn has(&self, way: Way, text: &str) -> bool {
        text.len() < self.length || self.texts.contains(&digest(way, text))
    }

    /// Takes room for one form of a text; `false` where there is none left.
    pub(super) fn take(&mut self, way: Way, bytes: usize) -> bool {
        let taken = match way {
            Way::CameIn => &mut self.came_in,
            Way::Known => &mut self.known,
        };
        let fits = *taken + bytes <= MOST_TEXT;
        if fits {
            *taken += bytes;
        }
        self.is_full |= !fits;
        fits
    }

    /// Takes the room of a text, without anything being kept of it.
    pub(super) fn measure(&mut self, way: Way, text: &str) {
        if self.admits(way, text) {
            let (decode, length) = (self.decode, self.length);
            each_reading(text, decode, length, &mut Reading::new(false), &mut |reading| {
                self.take(way, reading.bytes.len());
            });
        }
    }
}

/// Only this is kept of a text to recognise it.
fn digest(way: Way, text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((way, text))
}

/// Digests are hashes already.
#[derive(Default)]
struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

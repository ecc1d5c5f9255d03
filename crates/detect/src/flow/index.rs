//! What came in, and what was known before: looked up by pieces of fixed length.

use std::ops::Range;

use sortie_oatf::compile::FlowOrigin;
use sortie_oatf::extension::flow::Decoding;

use super::reading::{Decodings, Reading, TextPlace, each_reading};
use super::room::{FlowRoom, MOST_TEXT, Way};
use super::texts::each_raw_text;

/// How much is compared to find the longest value in a text that leaves: so much for each of its bytes, and so much at least.
/// Whether there is one at all does not depend on it, and when there is one its indicator needs no more.
const COMPARISONS: (usize, usize) = (32, 1 << 16);

/// Finds values that came in by a source in texts that leave by a sink.
///
/// A value is a piece of at least `min_length` bytes of a text that came in, in which some piece of that length had not been
/// known before. Time is linear in the length of texts, and memory bounded by [`MOST_TEXT`].
///
/// ```
/// use sortie_detect::flow::FlowIndex;
/// use sortie_oatf::extension::flow::Decoding;
///
/// let mut index = FlowIndex::new(12, Decoding::ALL);
/// index.know("Read my notes of Monday.");
/// index.bring_in(4, "content[0].text", "Notes of Monday: the code of the safe is 4711-0815-42.");
/// let found = index.leaving("https://x.example/?q=VGhlIGNvZGUgb2YgdGhlIHNhZmU").unwrap();
/// assert_eq!((found.origin.seq, found.origin.encoding), (4, Some(Decoding::Base64)));
/// assert!(index.leaving("I read your notes of Monday.").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct FlowIndex {
    length: usize,
    decode: Decodings,
    came_in: Pieces,
    sieve: Sieve,
    /// Where each byte of what came in stood.
    places: Vec<TextPlace>,
    /// The next place at which the piece that begins here stands too.
    next: Vec<u32>,
    segments: Vec<Segment>,
    known: Pieces,
    room: FlowRoom,
}

/// A value that came in and leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFinding {
    /// Where it stands in the text that leaves.
    pub range: Range<usize>,
    /// Where it came in.
    pub origin: FlowOrigin,
    /// How long it is, as it was compared.
    pub length: usize,
}

/// One form of one text that came in.
#[derive(Clone, Debug)]
struct Segment {
    range: Range<usize>,
    seq: u64,
    path: Box<str>,
}

const NONE: u32 = u32::MAX;

impl FlowIndex {
    /// About how many bytes of memory it takes.
    pub(super) fn memory(&self) -> usize {
        let pieces = |pieces: &Pieces| pieces.text.capacity() + 4 * pieces.slots.capacity();
        let segments: usize =
            self.segments.iter().map(|segment| size_of::<Segment>() + segment.path.len()).sum();
        pieces(&self.came_in)
            + pieces(&self.known)
            + 8 * self.sieve.words.capacity()
            + size_of::<TextPlace>() * self.places.capacity()
            + 4 * self.next.capacity()
            + segments
            + self.room.memory()
    }

    /// Nothing came in yet.
    pub fn new(min_length: usize, decode: &[Decoding]) -> Self {
        let length = min_length.max(1);
        Self {
            length,
            decode: Decodings::new(decode),
            came_in: Pieces::new(length),
            sieve: Sieve::new(length),
            places: Vec::new(),
            next: Vec::new(),
            segments: Vec::new(),
            known: Pieces::new(length),
            room: FlowRoom::new(min_length, decode),
        }
    }

    /// Whether there is nothing that could leave.
    pub fn is_empty(&self) -> bool {
        self.came_in.count == 0
    }

    /// Whether something was left out, so that what does not leave may have been that.
    pub fn is_full(&self) -> bool {
        self.room.is_full()
    }

    /// Whether every text of a message, as JSON, came in before. Names of members count as texts here.
    pub(super) fn has_taken_all(&self, json: &str) -> bool {
        let mut all = true;
        each_raw_text(json, self.length, &mut |text| all = all && self.room.has(Way::CameIn, text));
        all
    }

    /// The room that is taken.
    pub(super) fn room(&self) -> FlowRoom {
        self.room.clone()
    }

    /// A text that the agent was told, or said, before anything of it came in.
    pub fn know(&mut self, text: &str) {
        if !self.room.admits(Way::Known, text) {
            return;
        }
        let Self { known, length, decode, room, .. } = self;
        each_reading(text, *decode, *length, &mut Reading::new(false), &mut |reading| {
            if !room.take(Way::Known, reading.bytes.len()) {
                return;
            }
            let range = known.append(&reading.bytes);
            let mut roll = RollingHash::new(*length);
            for at in range.start..=range.end - *length {
                let hash = roll.at(&known.text, at);
                known.insert(hash, at);
            }
        });
    }

    /// A text that comes in by the source. What was known before does not count.
    pub fn bring_in(&mut self, seq: u64, path: &str, text: &str) {
        // Whether it was known before cannot be said when not all of that is kept.
        if !self.room.admits(Way::CameIn, text) {
            return;
        }
        let Self { length, decode, came_in, sieve, places, next, segments, known, room } = self;
        each_reading(text, *decode, *length, &mut Reading::new(true), &mut |reading| {
            if !room.take(Way::CameIn, reading.bytes.len()) {
                return;
            }
            let range = came_in.append(&reading.bytes);
            places.extend_from_slice(&reading.places);
            next.resize(range.end, NONE);
            let mut roll = RollingHash::new(*length);
            for at in range.start..=range.end - *length {
                let hash = roll.at(&came_in.text, at);
                if known.find(hash, &came_in.text[at..at + *length]).is_some() {
                    continue;
                }
                if let Some(first) = came_in.insert(hash, at) {
                    // Behind the first, so that nothing has to be walked.
                    next[at] = next[first];
                    next[first] = position(at);
                }
            }
            sieve.add(&came_in.text, range.clone());
            segments.push(Segment { range, seq, path: path.into() });
        });
    }

    /// The longest value in a text that leaves.
    pub fn leaving(&self, text: &str) -> Option<FlowFinding> {
        if self.is_empty() {
            return None;
        }
        // Most texts hold nothing, so where things stand is asked only when there is something.
        let mut is_there = false;
        each_reading(text, self.decode, self.length, &mut Reading::new(false), &mut |reading| {
            is_there = is_there || self.holds(&reading.bytes);
        });
        if !is_there {
            return None;
        }
        let mut best: Option<FlowFinding> = None;
        each_reading(text, self.decode, self.length, &mut Reading::new(true), &mut |reading| {
            let least = best.as_ref().map_or(self.length, |best| best.length + 1);
            if let Some((here, there)) = self.longest(&reading.bytes, least) {
                best = Some(self.finding(text, reading, here, there));
            }
        });
        best
    }

    /// Whether a piece of what came in is in it.
    fn holds(&self, bytes: &[u8]) -> bool {
        // Most texts that leave hold nothing: `sortie-bench --flows` guards what that costs.
        if !self.sieve.may_hold(bytes) {
            return false;
        }
        let mut roll = RollingHash::new(self.length);
        (0..(bytes.len() + 1).saturating_sub(self.length)).any(|at| {
            let hash = roll.at(bytes, at);
            self.came_in.find(hash, &bytes[at..at + self.length]).is_some()
        })
    }

    /// The longest piece, of at least so many bytes, that is also in what came in: where it stands here and there. Of several
    /// the first.
    fn longest(&self, bytes: &[u8], least: usize) -> Option<(Range<usize>, Range<usize>)> {
        let mut best: Option<(Range<usize>, Range<usize>)> = None;
        let (each, least_of_all) = COMPARISONS;
        let mut left = bytes.len().saturating_mul(each).max(least_of_all);
        let mut roll = RollingHash::new(self.length);
        // What was found at the last place, since the next one is usually in the same value.
        let mut last = (0..0, 0..0);
        for at in 0..=bytes.len().checked_sub(self.length)? {
            let hash = roll.at(bytes, at);
            let Some(first) = self.came_in.find(hash, &bytes[at..at + self.length]) else { continue };
            let mut there = first;
            loop {
                let is_same = last.0.contains(&at) && last.1.start + (at - last.0.start) == there;
                if !is_same {
                    let found = self.extended(bytes, at, there);
                    left = left.saturating_sub(found.0.len());
                    let enough = best.as_ref().map_or(least, |(best, _)| best.len() + 1);
                    if found.0.len() >= enough {
                        best = Some(found.clone());
                    }
                    last = found;
                }
                left = left.saturating_sub(1);
                there = match self.next[there] {
                    NONE => break,
                    next => next as usize,
                };
                if left == 0 {
                    break;
                }
            }
            if left == 0 {
                break;
            }
        }
        best
    }

    /// The longest piece around two places at which the same piece stands.
    fn extended(&self, bytes: &[u8], here: usize, there: usize) -> (Range<usize>, Range<usize>) {
        let Range { start, end } = self.segment(there).range;
        let known = &self.came_in.text;
        let before = bytes[..here].iter().rev().zip(known[start..there].iter().rev());
        let before = before.take_while(|(one, other)| one == other).count();
        let (after_here, after_there) = (here + self.length, there + self.length);
        let after = bytes[after_here..].iter().zip(&known[after_there..end]);
        let after = after.take_while(|(one, other)| one == other).count();
        (here - before..after_here + after, there - before..after_there + after)
    }

    fn segment(&self, at: usize) -> &Segment {
        // Segments follow each other without gaps, and every position is in one.
        &self.segments[self.segments.partition_point(|segment| segment.range.end <= at)]
    }

    fn finding(&self, text: &str, reading: &Reading, here: Range<usize>, there: Range<usize>) -> FlowFinding {
        let segment = self.segment(there.start);
        let length = here.len();
        let start = text.floor_char_boundary(reading.places[here.start].start());
        let end = text.ceil_char_boundary(reading.places[here.end - 1].end());
        FlowFinding {
            range: start..end,
            origin: FlowOrigin {
                seq: segment.seq,
                path: segment.path.to_string(),
                start: self.places[there.start].start(),
                end: self.places[there.end - 1].end(),
                encoding: reading.encoding,
            },
            length,
        }
    }
}

/// How many bytes a sieve looks at together.
const GRAM: usize = 8;

/// Tells of most texts that no piece of what came in is in them, by a few of their bytes.
///
/// It holds every eight bytes of what came in, as two bits of a word. A piece in a text covers so many of its bytes that one of every
/// few places begins eight of the piece, so only those places are looked at.
#[derive(Clone, Debug)]
struct Sieve {
    /// How far two places that are looked at are apart; `None` where pieces are too short for a sieve.
    stride: Option<usize>,
    words: Vec<u64>,
    /// How many bytes it was made for.
    room: usize,
}

impl Sieve {
    fn new(length: usize) -> Self {
        let stride = (length + 1).checked_sub(GRAM).filter(|stride| *stride > 1);
        Self { stride, words: Vec::new(), room: 0 }
    }

    /// Adds a text that was appended. Where two texts meet, eight bytes are added that are in neither, which does no harm.
    fn add(&mut self, text: &[u8], appended: Range<usize>) {
        if self.stride.is_none() {
            return;
        }
        let mut from = appended.start;
        if text.len() > self.room {
            self.room = (text.len() * 2).max(1024);
            // Thirty-two bits for each place, at least: of a hundred others, less than one looks as if it were there.
            self.words = vec![0; (self.room / 2).next_power_of_two()];
            from = 0;
        }
        for gram in text[from..appended.end].windows(GRAM) {
            let (word, bits) = self.place(gram);
            self.words[word] |= bits;
        }
    }

    fn may_hold(&self, bytes: &[u8]) -> bool {
        let Some(stride) = self.stride else { return true };
        !self.words.is_empty()
            && bytes.windows(GRAM).step_by(stride).any(|gram| {
                let (word, bits) = self.place(gram);
                self.words[word] & bits == bits
            })
    }

    /// The word and the bits of eight bytes.
    fn place(&self, gram: &[u8]) -> (usize, u64) {
        let bytes = gram.try_into().map_or(0, u64::from_le_bytes);
        let hash = mixed(bytes.wrapping_mul(BASE));
        let word = usize::try_from(hash >> 12 & 0xffff_ffff).unwrap_or(0) & (self.words.len() - 1);
        (word, 1 << (hash & 63) | 1 << (hash >> 6 & 63))
    }
}

/// Texts, and where each piece of a fixed length first stands in them.
#[derive(Clone, Debug)]
struct Pieces {
    length: usize,
    text: Vec<u8>,
    /// Positions by hash, with twelve bits of the hash above them. At most half of the slots are taken.
    slots: Vec<u32>,
    count: usize,
}

const POSITION_BITS: u32 = MOST_TEXT.trailing_zeros();

impl Pieces {
    fn new(length: usize) -> Self {
        Self { length, text: Vec::new(), slots: Vec::new(), count: 0 }
    }

    /// Adds a text of at least one piece, for which there is room.
    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let range = self.text.len()..self.text.len() + bytes.len();
        self.text.extend_from_slice(bytes);
        range
    }

    fn piece(&self, at: usize) -> &[u8] {
        &self.text[at..at + self.length]
    }

    /// Where a piece first stands.
    fn find(&self, hash: u64, piece: &[u8]) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        self.probe(hash, piece).ok()
    }

    /// The position of a piece, or the slot that is free for it.
    fn probe(&self, hash: u64, piece: &[u8]) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let tag = tag(hash);
        let mut slot = usize::try_from(hash & 0xffff_ffff).unwrap_or(0) & mask;
        // Half of the slots are free, so this ends.
        loop {
            let taken = self.slots[slot];
            if taken == NONE {
                return Err(slot);
            }
            let at = taken as usize & (MOST_TEXT - 1);
            if taken >> POSITION_BITS == tag && self.piece(at) == piece {
                return Ok(at);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Takes note of the piece at a position. Gives the first position of that piece where it is another one.
    fn insert(&mut self, hash: u64, at: usize) -> Option<usize> {
        if (self.count + 1) * 2 > self.slots.len() {
            self.grow();
        }
        match self.probe(hash, self.piece(at)) {
            Ok(first) => Some(first),
            Err(slot) => {
                self.slots[slot] = tag(hash) << POSITION_BITS | position(at);
                self.count += 1;
                None
            }
        }
    }

    fn grow(&mut self) {
        let bigger = vec![NONE; (self.slots.len() * 2).max(1024)];
        let mut roll = RollingHash::new(self.length);
        for taken in std::mem::replace(&mut self.slots, bigger).into_iter().filter(|slot| *slot != NONE) {
            let at = taken as usize & (MOST_TEXT - 1);
            let hash = roll.anew(&self.text, at);
            if let Err(slot) = self.probe(hash, self.piece(at)) {
                self.slots[slot] = taken;
            }
        }
    }
}

/// The upper twelve bits.
fn tag(hash: u64) -> u32 {
    u32::try_from(hash >> 52).unwrap_or_default()
}

/// Positions are below [`MOST_TEXT`].
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or_default()
}

/// The hash of a piece, computed from that of the piece before it.
struct RollingHash {
    length: usize,
    /// What the first byte of a piece counts.
    first: u64,
    bits: u64,
    /// Where the piece was.
    at: Option<usize>,
}

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

impl RollingHash {
    fn new(length: usize) -> Self {
        let first = (1..length).fold(1u64, |power, _| power.wrapping_mul(BASE));
        Self { length, first, bits: 0, at: None }
    }

    /// The hash of the piece at a position, which is one further than the last in most cases.
    fn at(&mut self, text: &[u8], at: usize) -> u64 {
        if self.at.is_none() || self.at.map(|last| last + 1) != Some(at) {
            return self.anew(text, at);
        }
        let (out, new) = (u64::from(text[at - 1]) + 1, u64::from(text[at + self.length - 1]) + 1);
        self.bits = self.bits.wrapping_sub(out.wrapping_mul(self.first)).wrapping_mul(BASE).wrapping_add(new);
        self.at = Some(at);
        mixed(self.bits)
    }

    fn anew(&mut self, text: &[u8], at: usize) -> u64 {
        let piece = &text[at..at + self.length];
        self.bits =
            piece.iter().fold(0, |bits, byte| bits.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1));
        self.at = Some(at);
        mixed(self.bits)
    }
}

/// Lets every bit depend on all others: the lower ones of a product depend on the lower ones of its factors alone.
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits ^ bits >> 32
}

//! Remembers which indicators texts concern.
//!
//! Agents send and receive the same texts again and again: lists of tools, prompts, earlier turns of a conversation. A text that was looked at
//! lately is not looked at again. Texts are compared, and not only their hashes: nobody can hide a text behind another one.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;

use super::look::TextKind;

/// How much each of the two generations takes, in bytes.
const MOST_BYTES: usize = 512 * 1024;
/// Longer texts are not kept.
const LONGEST: usize = 32 * 1024;
/// About how much an entry takes beside its text.
const ENTRY: usize = size_of::<KnownText>() + 32;
/// Nodes above a text that are told apart.
const MOST_BELOW: usize = 3;

/// What looks at a text: the same text is of interest to others in another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Viewpoint {
    rules: u64,
    selection: u64,
    subject: Subject,
    below: [u32; MOST_BELOW],
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// All that stands on the wire.
    Message,
    /// One text.
    Text(TextKind),
}

impl Viewpoint {
    /// `rules` and `selection` are numbers that nothing else has in this process. `None` below too many nodes.
    pub(super) fn new(rules: u64, selection: u64, subject: Subject, below: &[u32]) -> Option<Self> {
        let mut nodes = [u32::MAX; MOST_BELOW];
        nodes.get_mut(..below.len())?.copy_from_slice(below);
        Some(Self { rules, selection, subject, below: nodes })
    }
}

#[derive(Clone, Debug)]
struct KnownText {
    viewpoint: Viewpoint,
    text: Box<str>,
    indicators: Box<[u32]>,
}

impl KnownText {
    fn is_of(&self, viewpoint: &Viewpoint, text: &str) -> bool {
        *self.text == *text && self.viewpoint == *viewpoint
    }

    fn bytes(&self) -> usize {
        ENTRY + self.text.len() + size_of_val(&*self.indicators)
    }
}

/// Texts that were looked at lately.
#[derive(Clone, Debug, Default)]
pub(super) struct TextMemory {
    hasher: RandomState,
    young: HashMap<u64, KnownText, RandomState>,
    old: HashMap<u64, KnownText, RandomState>,
    /// How much the young ones take.
    bytes: usize,
}

/// Where a text is kept that is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeSlot(u64);

impl TextMemory {
    /// Adds the indicators that a text concerns to `found`, or says where that can be [kept](Self::keep).
    pub(super) fn recall(
        &mut self,
        viewpoint: &Viewpoint,
        text: &str,
        found: &mut Vec<u32>,
    ) -> Result<(), FreeSlot> {
        let hash = self.hasher.hash_one((viewpoint, text));
        if let Some(known) = self.young.get(&hash).filter(|known| known.is_of(viewpoint, text)) {
            found.extend_from_slice(&known.indicators);
            return Ok(());
        }
        match self.old.remove(&hash).filter(|known| known.is_of(viewpoint, text)) {
            Some(known) => {
                found.extend_from_slice(&known.indicators);
                self.insert(hash, known);
                Ok(())
            }
            None => Err(FreeSlot(hash)),
        }
    }

    /// Keeps the indicators that a text concerns.
    pub(super) fn keep(&mut self, slot: FreeSlot, viewpoint: Viewpoint, text: &str, indicators: &[u32]) {
        if text.len() <= LONGEST && size_of_val(indicators) <= LONGEST {
            self.insert(slot.0, KnownText { viewpoint, text: text.into(), indicators: indicators.into() });
        }
    }

    fn insert(&mut self, hash: u64, known: KnownText) {
        if self.bytes >= MOST_BYTES {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.bytes = 0;
        }
        self.bytes += known.bytes();
        self.young.insert(hash, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewpoint(rules: u64, subject: Subject, below: &[u32]) -> Viewpoint {
        Viewpoint::new(rules, 0, subject, below).unwrap()
    }

    fn recall(memory: &mut TextMemory, viewpoint: Viewpoint, text: &str) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        memory.recall(&viewpoint, text, &mut found).is_ok().then_some(found)
    }

    fn keep(memory: &mut TextMemory, viewpoint: Viewpoint, text: &str, indicators: &[u32]) {
        let slot = memory.recall(&viewpoint, text, &mut Vec::new()).unwrap_err();
        memory.keep(slot, viewpoint, text, indicators);
    }

    #[test]
    fn a_text_is_known_where_it_was_seen_and_nowhere_else() {
        let mut memory = TextMemory::default();
        let text = |node| Subject::Text(TextKind::Text(node));
        let seen = viewpoint(1, text(Some(1)), &[7]);
        keep(&mut memory, seen, "ls /", &[3, 4]);
        assert_eq!(recall(&mut memory, seen, "ls /"), Some(vec![3, 4]));
        for other in [
            viewpoint(2, text(Some(1)), &[7]),
            Viewpoint::new(1, 1, text(Some(1)), &[7]).unwrap(),
            viewpoint(1, text(None), &[7]),
            viewpoint(1, Subject::Text(TextKind::Name), &[7]),
            viewpoint(1, Subject::Message, &[7]),
            viewpoint(1, text(Some(1)), &[]),
            viewpoint(1, text(Some(1)), &[7, 7]),
        ] {
            assert_eq!(recall(&mut memory, other, "ls /"), None, "{other:?}");
        }
        assert_eq!(recall(&mut memory, seen, "ls"), None);
        assert!(Viewpoint::new(1, 0, text(None), &[1, 2, 3, 4]).is_none());
    }

    #[test]
    fn two_texts_with_one_hash_are_told_apart() {
        let mut memory = TextMemory::default();
        let seen = viewpoint(1, Subject::Message, &[]);
        let slot = memory.recall(&seen, "rm -rf /", &mut Vec::new()).unwrap_err();
        memory.keep(slot, seen, "harmless", &[]);
        assert_eq!(recall(&mut memory, seen, "rm -rf /"), None);
    }

    #[test]
    fn it_stays_small_and_keeps_what_is_seen_again() {
        let mut memory = TextMemory::default();
        let seen = viewpoint(1, Subject::Message, &[]);
        keep(&mut memory, seen, "again and again", &[1]);
        for number in 0..20_000 {
            keep(&mut memory, seen, &format!("{number:>100}"), &[2]);
            assert_eq!(recall(&mut memory, seen, "again and again"), Some(vec![1]));
        }
        keep(&mut memory, seen, &"x".repeat(LONGEST + 1), &[]);
        let all = memory.young.values().chain(memory.old.values());
        assert!(all.map(KnownText::bytes).sum::<usize>() <= 2 * (MOST_BYTES + ENTRY + LONGEST));
        assert_eq!(recall(&mut memory, seen, &format!("{:>100}", 0)), None);
    }
}

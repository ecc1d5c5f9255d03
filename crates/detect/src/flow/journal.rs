//! What was said so far, for flows that may have to look at it later.
//!
//! Whether something leaves is asked of few messages: those that an indicator matches but for its flow. Until then nothing has to be
//! looked up, so nothing is indexed. All flows share what is kept, and each knows how far it has read.

use serde_json::Value;
use sortie_trace::Deriver;

/// How many bytes of messages are kept before flows have to read them.
pub(super) const MOST_KEPT: usize = 4 << 20;

/// What an entry takes besides its text.
const ENTRY: usize = 64;

/// Messages in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    entries: Vec<JournalEntry>,
    bytes: usize,
}

/// Something that was said.
#[derive(Clone, Debug)]
pub(super) struct JournalEntry {
    /// Its position in the trace.
    pub(super) seq: u64,
    /// The flows for which it came in by the source. For the others it is something that the agent was told.
    sources: Box<[u32]>,
    /// JSON: of a source what indicators see of the message, of anything else what was on the wire.
    text: Box<str>,
    is_source: bool,
}

impl Journal {
    pub(super) fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }

    /// Keeps a message for the flows that it does not come in for. `sources` are those that it does come in for.
    pub(super) fn tell(&mut self, seq: u64, sources: &[u32], text: &str) {
        self.push(JournalEntry { seq, sources: sources.into(), text: text.into(), is_source: false });
    }

    /// Keeps a message for the flows that it comes in for.
    pub(super) fn bring_in(&mut self, seq: u64, sources: &[u32], text: &str) {
        self.push(JournalEntry { seq, sources: sources.into(), text: text.into(), is_source: true });
    }

    fn push(&mut self, entry: JournalEntry) {
        self.bytes += entry.text.len() + ENTRY;
        self.entries.push(entry);
    }

    /// About how many bytes of memory it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_long(&self) -> bool {
        self.bytes > MOST_KEPT
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl JournalEntry {
    /// What it is for a flow.
    pub(super) fn for_flow(&self, flow: u32) -> EntryText<'_> {
        match (self.is_source, self.sources.contains(&flow)) {
            (true, true) => EntryText::Source(&self.text),
            (false, false) => EntryText::Known(&self.text),
            _ => EntryText::Other,
        }
    }
}

/// An entry as one flow sees it.
pub(super) enum EntryText<'e> {
    /// It came in by the source: JSON that [`EntryText::seen`] reads.
    Source(&'e str),
    /// The agent was told it.
    Known(&'e str),
    /// Another entry of the same message is for this flow.
    Other,
}

impl EntryText<'_> {
    /// What indicators see of a message that came in.
    pub(super) fn seen(json: &str) -> Value {
        Deriver::body(json).0
    }
}

//! Rows as they are written: those of `sortie scan`, and whether they were written before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use serde::{Deserialize, Serialize};
use sortie_scan::{FindingRow, RowError, Scanned};

/// The most findings of a session that are remembered.
const MAX_KNOWN: usize = 65_536;
/// The most messages of a session that are remembered, to recognize those that are delivered twice.
const MAX_SEEN: usize = 16_384;

/// What was watched gives a row of `sortie scan`, and these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedRow {
    /// Whether the finding was written before, and its message was delivered again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// The id under which the finding was written before a late span moved its message to another place in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// A row that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedRow {
    /// The finding or error.
    pub row: Scanned,
    /// What is known about it.
    pub watched: WatchedRow,
}

impl ReportedRow {
    pub(crate) fn new(row: Scanned) -> Self {
        Self { row, watched: WatchedRow::default() }
    }

    /// The row as a line of JSON, without its line break.
    pub fn to_line(&self) -> String {
        // Nothing in it can fail to be written.
        let mut line = serde_json::to_string(&self.row).unwrap_or_default();
        if self.watched != WatchedRow::default()
            && let Ok(watched) = serde_json::to_string(&self.watched)
        {
            line.pop();
            line.push(',');
            line.push_str(&watched[1..]);
        }
        line
    }

    /// The finding.
    pub fn finding(&self) -> Option<&FindingRow> {
        match &self.row {
            Scanned::Finding(row) => Some(row),
            Scanned::Error(_) => None,
        }
    }
}

/// The id of a finding as a number.
pub(crate) fn number_of(id: &str) -> u128 {
    u128::from_str_radix(id, 16).unwrap_or(0)
}

/// A hash that is the same in every process of this program.
pub(crate) fn stable_hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

/// What says that two findings are the same, wherever their message stands in a session, and whichever that turned out to be.
pub(crate) fn content_hash(row: &FindingRow) -> u64 {
    let key = (&row.document, &row.indicator, &row.path, row.start, &row.time, &row.text);
    BuildHasherDefault::<DefaultHasher>::default().hash_one(key)
}

/// Findings that were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFindings(HashMap<u128, u64>);

impl KnownFindings {
    pub(crate) fn contains(&self, id: u128) -> bool {
        self.0.contains_key(&id)
    }

    pub(crate) fn insert(&mut self, row: &FindingRow) {
        self.insert_number(number_of(&row.id), content_hash(row));
    }

    fn insert_number(&mut self, id: u128, content: u64) {
        if self.0.len() < MAX_KNOWN {
            self.0.insert(id, content);
        }
    }

    /// Says whether an error is new, and remembers it.
    pub(crate) fn insert_error(&mut self, error: &RowError) -> bool {
        let key = (&error.session, error.at, &error.indicator, &error.reason);
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        let is_new = !self.contains(hash.into());
        self.insert_number(hash.into(), 0);
        is_new
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        for (id, content) in other.0 {
            self.insert_number(id, content);
        }
    }

    /// Those that are not among these findings, by what they say: several traces may say the same at the same time.
    pub(crate) fn missing_from(&self, rows: &HashSet<u128>) -> HashMap<u64, Vec<u128>> {
        let mut missing: HashMap<u64, Vec<u128>> = HashMap::new();
        // Errors have no content.
        for (id, content) in self.0.iter().filter(|(id, content)| **content != 0 && !rows.contains(id)) {
            missing.entry(*content).or_default().push(*id);
        }
        missing
    }

    pub(crate) fn remove(&mut self, id: u128) {
        self.0.remove(&id);
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let pair = |(id, content): (&u128, &u64)| [&id.to_le_bytes()[..], &content.to_le_bytes()].concat();
        self.0.iter().flat_map(pair).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut known = Self::default();
        for chunk in bytes.chunks_exact(24) {
            let (id, content) = chunk.split_at(16);
            if let (Ok(id), Ok(content)) = (id.try_into(), content.try_into()) {
                known.insert_number(u128::from_le_bytes(id), u64::from_le_bytes(content));
            }
        }
        known
    }
}

/// The last messages, to recognize those that are delivered twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenMessages {
    hashes: HashSet<u64>,
    order: VecDeque<u64>,
}

impl SeenMessages {
    /// Says whether it was seen before, and remembers it.
    pub(crate) fn insert(&mut self, message: &[u8]) -> bool {
        let hash = stable_hash(message);
        if !self.hashes.insert(hash) {
            return true;
        }
        self.order.push_back(hash);
        if self.order.len() > MAX_SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        false
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        for hash in &other.order {
            if self.hashes.insert(*hash) {
                self.order.push_back(*hash);
            }
        }
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.order.len() * 24
    }
}

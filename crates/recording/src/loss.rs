//! What was lost between what happened and what a recording says.

use std::collections::BTreeMap;

use serde::Serialize;
use sortie_trace::foreign::Lack;

/// Something that a format never carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What (`descriptions of tools`).
    pub what: &'static str,
    /// What follows from it, for people.
    pub means: &'static str,
}

/// What was lost of one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecordingLoss {
    /// What the format cannot carry.
    pub format_cannot: Vec<Gap>,
    /// What this file does not carry, and would have with another setting.
    pub file_lacks: Vec<Lack>,
    /// What is not in the file, and is known to have happened nevertheless: no evidence.
    pub inferred: Vec<String>,
    /// What is odd about it, and how often: numbers that are strings, answers to no call.
    pub oddities: BTreeMap<String, u64>,
    /// Parts that say nothing about messages and were passed over, and how often: `usage`, `gitBranch`.
    pub passed_over: BTreeMap<String, u64>,
    /// Parts that nobody knows, and how often. They may say something.
    pub unknown: BTreeMap<String, u64>,
    /// Why its end is missing.
    pub cut: Option<String>,
}

/// How many different names of parts are kept of a session. The rest is counted under one name: names are hostile too.
const NAMES: usize = 200;
/// How much of a name is kept.
const NAME: usize = 80;

/// Counts a name in a table that does not grow without bound.
pub fn count(table: &mut BTreeMap<String, u64>, name: &str) {
    let cut = name.char_indices().nth(NAME).map_or(name, |(at, _)| &name[..at]);
    if let Some(times) = table.get_mut(cut) {
        *times += 1;
    } else if table.len() < NAMES {
        table.insert(cut.to_owned(), 1);
    } else {
        *table.entry("(more)".to_owned()).or_default() += 1;
    }
}

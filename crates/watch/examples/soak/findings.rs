//! What was planted, and what the watch has written.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

use crate::Failure;
use crate::traffic::Message;

/// A message with findings that the server acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Planted {
    pub(crate) message: Message,
    /// Those that are not written yet.
    missing: Vec<u128>,
}

/// All findings.
#[derive(Debug)]
pub(crate) struct Findings {
    output: PathBuf,
    /// How much of the output was read.
    read: u64,
    /// Everything that was planted.
    planted: HashSet<u128>,
    written: HashSet<u128>,
    /// Messages in the stream whose findings are not all written, by their numbers there.
    waiting: BTreeMap<u64, Planted>,
    /// Where a finding is waited for.
    places: HashMap<u128, u64>,
    /// Sessions of which the server lost a message.
    damaged: HashSet<String>,
    pub(crate) expected: u64,
    pub(crate) repeated: u64,
    /// Written twice without a mark.
    pub(crate) unmarked: u64,
    /// Marked as repeated, and never written before.
    pub(crate) only_repeated: u64,
    /// Not among those of the scan.
    pub(crate) unexpected: u64,
    pub(crate) errors: u64,
    /// In messages that the server acknowledged, and did not have any more after it was killed.
    pub(crate) lost_by_server: u64,
}

impl Findings {
    pub(crate) fn new(output: PathBuf) -> Self {
        Self {
            output,
            read: 0,
            planted: HashSet::new(),
            written: HashSet::new(),
            waiting: BTreeMap::new(),
            places: HashMap::new(),
            damaged: HashSet::new(),
            expected: 0,
            repeated: 0,
            unmarked: 0,
            only_repeated: 0,
            unexpected: 0,
            errors: 0,
            lost_by_server: 0,
        }
    }

    /// Knows the findings of messages before they are published.
    pub(crate) fn plant(&mut self, messages: &[Message]) {
        self.planted.extend(messages.iter().flat_map(|message| &message.findings));
    }

    /// Expects the findings of a message, which the server acknowledged under this number.
    pub(crate) fn expect(&mut self, sequence: u64, message: Message) {
        if message.findings.is_empty() || self.damaged.contains(&message.session) {
            return;
        }
        self.expected += message.findings.len() as u64;
        let mut missing = message.findings.clone();
        missing.retain(|id| !self.written.contains(id));
        if !missing.is_empty() {
            self.places.extend(missing.iter().map(|id| (*id, sequence)));
            self.waiting.insert(sequence, Planted { message, missing });
        }
    }

    /// Reads what was written since the last time.
    pub(crate) fn read_output(&mut self) -> Result<(), Failure> {
        let Ok(mut file) = File::open(&self.output) else { return Ok(()) };
        file.seek(SeekFrom::Start(self.read))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                return Ok(());
            }
            self.read += read as u64;
            let row: Value = serde_json::from_slice(&line)?;
            if row["record"] != "finding" {
                self.errors += 1;
                continue;
            }
            let id = finding_id(&row)?;
            let (is_new, is_repeated) = (self.written.insert(id), row["repeated"] == true);
            self.repeated += u64::from(is_repeated);
            self.unmarked += u64::from(!is_new && !is_repeated);
            self.only_repeated += u64::from(is_new && is_repeated);
            self.unexpected += u64::from(!self.planted.contains(&id));
            if let Some(place) = self.places.remove(&id)
                && let Some(planted) = self.waiting.get_mut(&place)
            {
                planted.missing.retain(|missing| *missing != id);
                if planted.missing.is_empty() {
                    self.waiting.remove(&place);
                }
            }
        }
    }

    /// Messages whose findings are not written yet.
    pub(crate) fn waiting(&self) -> &BTreeMap<u64, Planted> {
        &self.waiting
    }

    /// How many findings are in the stream and not written, and how many are written.
    pub(crate) fn state(&self) -> (u64, u64) {
        let missing = self.waiting.values().map(|planted| planted.missing.len() as u64).sum();
        (missing, self.written.len() as u64)
    }

    /// Does not expect the findings of a session any more of which the server lost a message.
    pub(crate) fn give_up(&mut self, session: &str) {
        self.damaged.insert(session.to_owned());
        let (places, lost) = (&mut self.places, &mut self.lost_by_server);
        self.waiting.retain(|_, planted| {
            if planted.message.session != session {
                return true;
            }
            for id in &planted.missing {
                places.remove(id);
            }
            *lost += planted.missing.len() as u64;
            false
        });
    }
}

/// The id of a finding as a number.
pub(crate) fn finding_id(row: &Value) -> Result<u128, Failure> {
    Ok(u128::from_str_radix(row["id"].as_str().ok_or("a finding without an id")?, 16)?)
}

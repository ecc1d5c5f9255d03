//! Sessions that are put together from spans and events.
//!
//! A span belongs to a conversation or only to a trace, and a trace may turn out to be of a conversation later. So what is kept together is
//! everything that shares a trace or a conversation, and the importer makes the sessions of it, as it does for a file.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sortie_import::{ImportError, Input, InputLimits};
use sortie_scan::{RowError, Rules, Scanned, SessionScanner};
use sortie_spans::ExportItem;

use crate::rows::{KnownFindings, SeenMessages};

/// A trace or a conversation has an id of no more than so many bytes here; what is longer is cut.
const MAX_ID: usize = 512;

/// Everything that shares a trace or a conversation.
#[derive(Debug)]
pub(crate) struct SpanGroup {
    pub(crate) source: Arc<str>,
    /// The ids by which it is found.
    ids: Vec<String>,
    pub(crate) touched: Instant,
    /// When something came that was not evaluated yet.
    first_pending: Option<Instant>,
    /// When it is to be evaluated.
    pub(crate) due: Option<Instant>,
    /// Not before this.
    rested: Option<Instant>,
    pub(crate) known: KnownFindings,
    pub(crate) seen: SeenMessages,
    pub(crate) bytes: u64,
    /// Its place in the order of use.
    pub(crate) tick: u64,
}

impl SpanGroup {
    pub(crate) fn new(source: Arc<str>, now: Instant) -> Self {
        Self {
            source,
            ids: Vec::new(),
            touched: now,
            first_pending: None,
            due: None,
            rested: None,
            known: KnownFindings::default(),
            seen: SeenMessages::default(),
            bytes: 0,
            tick: 0,
        }
    }

    /// Something came.
    pub(crate) fn touch(&mut self, now: Instant, settle: Duration, is_over: bool) {
        self.touched = now;
        let first = *self.first_pending.get_or_insert(now);
        // A trace that is never quiet is evaluated now and then all the same.
        let due = if is_over { now } else { (now + settle).min(first + settle * 10) };
        let due = self.due.map_or(due, |known| if is_over { known.min(due) } else { due });
        self.due = Some(self.rested.map_or(due, |rested| due.max(rested)));
    }

    /// It was evaluated, which took so long.
    pub(crate) fn rest(&mut self, took: Duration) {
        (self.first_pending, self.due) = (None, None);
        // Evaluating a session again and again takes no more than a fifth of the time.
        self.rested = Some(Instant::now() + took * 4);
    }
}

/// The groups, by what they share.
#[derive(Debug, Default)]
pub(crate) struct SpanGroups {
    pub(crate) groups: HashMap<String, SpanGroup>,
    by_id: HashMap<String, String>,
}

impl SpanGroups {
    /// The names by which an item is found: its conversation and its trace.
    pub(crate) fn ids(item: &ExportItem) -> Vec<String> {
        let conversation = item.conversation.as_deref().map(|id| cut("c:", id));
        let trace = (!item.trace.is_empty()).then(|| cut("t:", &item.trace));
        let mut ids: Vec<String> = conversation.into_iter().chain(trace).collect();
        if ids.is_empty() {
            ids.push("t:".to_owned());
        }
        ids
    }

    /// The groups that these ids belong to; none for new ones.
    pub(crate) fn find(&self, ids: &[String]) -> Vec<String> {
        let mut found: Vec<String> = ids.iter().filter_map(|id| self.by_id.get(id).cloned()).collect();
        found.dedup();
        found
    }

    /// Says that ids belong to a group, which is there.
    pub(crate) fn assign(&mut self, key: &str, ids: &[String]) {
        let Some(group) = self.groups.get_mut(key) else { return };
        for id in ids {
            if self.by_id.insert(id.clone(), key.to_owned()).is_none() {
                group.ids.push(id.clone());
            }
        }
    }

    /// Puts one group to another.
    pub(crate) fn merge(&mut self, from: &str, into: &str) {
        let Some(other) = self.groups.remove(from) else { return };
        for id in &other.ids {
            self.by_id.insert(id.clone(), into.to_owned());
        }
        if let Some(group) = self.groups.get_mut(into) {
            group.ids.extend(other.ids);
            group.known.absorb(other.known);
            group.seen.absorb(&other.seen);
            group.bytes += other.bytes;
            group.due = [group.due, other.due].into_iter().flatten().min();
            group.first_pending = [group.first_pending, other.first_pending].into_iter().flatten().min();
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<SpanGroup> {
        let group = self.groups.remove(key)?;
        for id in &group.ids {
            self.by_id.remove(id);
        }
        Some(group)
    }

    /// When the next is to be evaluated.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.groups.values().filter_map(|group| group.due).min()
    }
}

fn cut(kind: &str, id: &str) -> String {
    let mut end = id.len().min(MAX_ID);
    while !id.is_char_boundary(end) {
        end -= 1;
    }
    format!("{kind}{}", &id[..end])
}

/// Scans exports as `sortie scan` does, when they are in a file.
pub(crate) fn scan_spans(rules: &Arc<Rules>, source: &str, lines: Vec<u8>, rows: &mut Vec<Scanned>) {
    let mut scanner = SessionScanner::new(Arc::clone(rules), source);
    let read = Input::stream(Cursor::new(lines), source, InputLimits::default()).and_then(|input| {
        sortie_spans::OTLP.read_pending(input, &mut |session| {
            let session = session.finish();
            scanner.begin(&session.id, &session.header("sortie"));
            for record in session.into_records() {
                scanner.record(&record, rows);
            }
            Ok(())
        })
    });
    match read {
        // Spans that say nothing about an agent.
        Ok(()) | Err(ImportError::Nothing { .. }) => {}
        Err(error) => rows.push(Scanned::Error(RowError {
            source: source.to_owned(),
            session: None,
            at: None,
            indicator: None,
            reason: error.to_string(),
        })),
    }
}

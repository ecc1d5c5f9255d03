//! Rows of parts that are scanned at the same time, handed on in the order of parts.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::finding::Scanned;

/// How many rows may wait for those of earlier parts.
const MAX_WAITING: usize = 50_000;

/// Hands rows on in order.
pub(crate) struct Delivery<F> {
    state: Mutex<State<F>>,
    moved: Condvar,
}

struct State<F> {
    sink: F,
    /// The first part that is not over.
    first: usize,
    /// Rows of later parts, and whether their part is over.
    waiting: BTreeMap<usize, (Vec<Scanned>, bool)>,
    count: usize,
    is_stopped: bool,
}

impl<F: FnMut(Vec<Scanned>) -> bool> Delivery<F> {
    /// `sink` says whether it takes more.
    pub(crate) fn new(sink: F) -> Self {
        let state = State { sink, first: 0, waiting: BTreeMap::new(), count: 0, is_stopped: false };
        Self { state: Mutex::new(state), moved: Condvar::new() }
    }

    /// Hands on rows of a part. Waits where too many of later parts wait already; the first part never does.
    pub(crate) fn rows(&self, part: usize, rows: Vec<Scanned>) -> bool {
        let mut state = self.lock();
        while state.first != part && state.count >= MAX_WAITING && !state.is_stopped {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_stopped {
            return false;
        }
        if state.first == part {
            state.hand_on(rows);
            if state.is_stopped {
                self.moved.notify_all();
            }
        } else {
            state.count += rows.len();
            state.waiting.entry(part).or_default().0.extend(rows);
        }
        !state.is_stopped
    }

    /// The part is over.
    pub(crate) fn end(&self, part: usize) {
        let mut state = self.lock();
        if state.first != part {
            state.waiting.entry(part).or_default().1 = true;
            return;
        }
        state.first += 1;
        loop {
            let first = state.first;
            let Some((rows, is_over)) = state.waiting.remove(&first) else { break };
            state.count -= rows.len();
            state.hand_on(rows);
            if !is_over {
                break;
            }
            state.first += 1;
        }
        self.moved.notify_all();
    }

    /// Takes no more.
    pub(crate) fn stop(&self) {
        self.lock().is_stopped = true;
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: FnMut(Vec<Scanned>) -> bool> State<F> {
    fn hand_on(&mut self, rows: Vec<Scanned>) {
        if !rows.is_empty() && !self.is_stopped {
            self.is_stopped = !(self.sink)(rows);
        }
    }
}

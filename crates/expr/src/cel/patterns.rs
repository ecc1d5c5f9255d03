//! Regular expressions of an expression.
//!
//! A literal pattern is checked with its program, and compiled when the program is first evaluated: validation
//! only wants to know whether it would compile. Patterns that an expression computes are compiled when they are met: what they
//! cost in steps depends only on the evaluation, so that the verdict does not depend on what an earlier
//! one left in the cache, and what they cost in time is shared between evaluations.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::fault::FaultKind;
use super::limits::Budget;
use crate::re2::{self, Re2Error, Regex};

/// Patterns kept, per program and per evaluation. The oldest makes room.
const CAPACITY: usize = 16;

/// A pattern that stands in the expression itself.
#[derive(Debug)]
pub(super) struct LiteralPattern {
    source: Box<str>,
    size: usize,
    regex: OnceLock<Option<Regex>>,
}

impl LiteralPattern {
    pub(super) fn new(source: &str) -> Result<Self, Re2Error> {
        Ok(Self { source: source.into(), size: re2::size(source)?, regex: OnceLock::new() })
    }

    /// See [`Regex::size`].
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The pattern, compiled. What was accepted compiles; if ever it did not, that is an error of evaluation.
    pub(super) fn get(&self) -> Result<&Regex, FaultKind> {
        let regex = self.regex.get_or_init(|| Regex::new(&self.source).ok());
        regex.as_ref().ok_or(FaultKind::InvalidPattern)
    }
}

type Entry = (Box<str>, Arc<Regex>);

/// The patterns earlier evaluations of a program compiled.
#[derive(Debug, Default)]
pub(super) struct PatternCache(Mutex<Vec<Entry>>);

impl PatternCache {
    fn get(&self, source: &str) -> Result<Arc<Regex>, FaultKind> {
        // A poisoned cache still holds whole entries: nothing panics between two changes to it.
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = find(&entries, source) {
            return Ok(regex);
        }
        let regex = Regex::new(source).map_err(|_| FaultKind::InvalidPattern)?;
        let regex = Arc::new(regex);
        remember(&mut entries, source, &regex);
        Ok(regex)
    }
}

/// The patterns of one evaluation, each paid for once.
#[derive(Debug, Default)]
pub(super) struct RecentPatterns(Vec<Entry>);

impl RecentPatterns {
    pub(super) fn get(
        &mut self,
        source: &str,
        cache: &PatternCache,
        budget: &mut Budget,
    ) -> Result<Arc<Regex>, FaultKind> {
        budget.scan(source.len().saturating_mul(CAPACITY))?;
        if let Some(regex) = find(&self.0, source) {
            return Ok(regex);
        }
        budget.compile_regex(source.len())?;
        let regex = cache.get(source)?;
        budget.keep_regex(regex.size())?;
        remember(&mut self.0, source, &regex);
        Ok(regex)
    }
}

fn find(entries: &[Entry], source: &str) -> Option<Arc<Regex>> {
    entries.iter().find(|(known, _)| **known == *source).map(|(_, regex)| Arc::clone(regex))
}

fn remember(entries: &mut Vec<Entry>, source: &str, regex: &Arc<Regex>) {
    if entries.len() == CAPACITY {
        entries.remove(0);
    }
    entries.push((source.into(), Arc::clone(regex)));
}

//! What one expression may cost.
//!
//! Documents and messages are hostile input, so every size is capped before something recursive or
//! proportional to it runs. A step budget, not a clock, decides when an evaluation has cost too much:
//! the same expression on the same message gives the same verdict on a busy machine. The deadline
//! behind it is a backstop against a defect in the accounting.

use std::time::Duration;

use super::fault::FaultKind;
use crate::re2::SMALL_SIZE;

/// Longest accepted source, in bytes. With it, a token count and a node count are bounded too.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024;

/// Deepest accepted nesting of parentheses, brackets, calls and conditionals. Bounds the parser's
/// recursion.
pub const MAX_NESTING: usize = 64;

/// Deepest accepted expression tree. Bounds the evaluator's recursion: a chain `1 + 1 + …` nests to
/// the left without a single parenthesis.
pub const MAX_DEPTH: usize = 256;

/// Most comprehensions (`all`, `exists`, `map`, …) inside one another.
pub const MAX_COMPREHENSIONS: usize = 8;

/// How large the patterns of one expression may be together, counted as [`crate::re2`] counts: twice the largest
/// single one. Compiling that much takes about 50 ms.
pub const MAX_PATTERN_SIZE: usize = 300_000;

/// Deepest value that is compared or returned. `serde_json` reads no deeper text than this.
pub const MAX_VALUE_DEPTH: usize = 128;

/// Steps one evaluation may take. A step is one node evaluated, one element visited or copied, or a
/// stretch of text read or written. All of them together take 3 to 15 ms on an idle machine, within the
/// 100 ms per expression that the SDK specification (§6.1) recommends.
pub const STEP_BUDGET: u32 = 250_000;

/// A monotonic clock: the time since some fixed point. This crate reads none of its own, so that it runs
/// where there is none; whoever has one passes it in.
pub type Clock = fn() -> Duration;

/// Wall-clock backstop of one evaluation, for who passes a [`Clock`]. Ten times the recommended 100 ms, because a wall clock also
/// counts what other processes do: on a machine five times overcommitted 15 ms of steps were seen to
/// take 114 ms, and a verdict must not depend on that.
pub const DEADLINE: Duration = Duration::from_secs(1);

/// Bytes searched, compared or counted per step: 16 MB in all.
const BYTES_SCANNED_PER_STEP: usize = 64;

/// Bytes walked code point by code point per step.
const BYTES_WALKED_PER_STEP: usize = 32;

/// Bytes of text produced per step. With the budget this bounds memory to 8 MB of text.
const BYTES_COPIED_PER_STEP: usize = 32;

/// Bytes a regular expression of [`SMALL_SIZE`] reads per step, slower than a plain search: 4 MB in all.
const BYTES_MATCHED_PER_STEP: usize = 16;

/// Steps for compiling a pattern that is not a literal, and for each byte of it.
const PATTERN_STEPS: u32 = 2_000;
const PATTERN_STEPS_PER_BYTE: usize = 16;

/// Steps for reading or writing a date, a duration or a fraction.
const FORMAT_STEPS: u32 = 16;

/// Steps between two looks at the clock. Ordinary evaluations finish before the first.
const STEPS_PER_CLOCK_CHECK: u32 = 50_000;

/// What is left of an evaluation's allowance.
#[derive(Debug)]
pub(super) struct Budget {
    remaining: u32,
    next_clock_check: u32,
    clock: Option<Clock>,
    /// When the clock was first looked at: a short evaluation never asks for the time.
    started: Option<Duration>,
}

impl Budget {
    pub(super) fn new(clock: Option<Clock>) -> Self {
        Self {
            remaining: STEP_BUDGET,
            next_clock_check: STEP_BUDGET - STEPS_PER_CLOCK_CHECK,
            clock,
            started: None,
        }
    }

    /// Takes `steps` from the allowance.
    #[inline]
    pub(super) fn spend(&mut self, steps: u32) -> Result<(), FaultKind> {
        let Some(remaining) = self.remaining.checked_sub(steps) else {
            self.remaining = 0;
            return Err(FaultKind::BudgetExceeded);
        };
        self.remaining = remaining;
        if remaining < self.next_clock_check { self.look_at_clock() } else { Ok(()) }
    }

    /// For visiting or copying `count` values.
    pub(super) fn visit(&mut self, count: usize) -> Result<(), FaultKind> {
        self.spend(saturating(count))
    }

    /// For reading `bytes` of text.
    pub(super) fn scan(&mut self, bytes: usize) -> Result<(), FaultKind> {
        self.spend(saturating(bytes / BYTES_SCANNED_PER_STEP))
    }

    /// For finding code points in `bytes` of text.
    pub(super) fn walk(&mut self, bytes: usize) -> Result<(), FaultKind> {
        self.spend(saturating(bytes / BYTES_WALKED_PER_STEP))
    }

    /// For reading or writing a value with a format of its own.
    pub(super) fn format(&mut self) -> Result<(), FaultKind> {
        self.spend(FORMAT_STEPS)
    }

    /// For producing `bytes` of text; called before the allocation.
    pub(super) fn copy(&mut self, bytes: usize) -> Result<(), FaultKind> {
        self.spend(saturating(bytes / BYTES_COPIED_PER_STEP))
    }

    /// For running a regular expression of a size over `bytes` of text.
    pub(super) fn run_regex(&mut self, size: usize, bytes: usize) -> Result<(), FaultKind> {
        let read = bytes.saturating_mul(size.max(SMALL_SIZE));
        self.spend(saturating(read / (SMALL_SIZE * BYTES_MATCHED_PER_STEP)))
    }

    /// For compiling a pattern of `bytes`.
    pub(super) fn compile_regex(&mut self, bytes: usize) -> Result<(), FaultKind> {
        self.spend(PATTERN_STEPS.saturating_add(saturating(bytes * PATTERN_STEPS_PER_BYTE)))
    }

    /// For having compiled a pattern of a size, which is known only afterwards: one may be compiled too many.
    pub(super) fn keep_regex(&mut self, size: usize) -> Result<(), FaultKind> {
        self.spend(saturating(size))
    }

    #[cold]
    fn look_at_clock(&mut self) -> Result<(), FaultKind> {
        self.next_clock_check = self.remaining.saturating_sub(STEPS_PER_CLOCK_CHECK);
        let Some(clock) = self.clock else { return Ok(()) };
        let now = clock();
        let started = *self.started.get_or_insert(now);
        if now.saturating_sub(started) > DEADLINE {
            return Err(FaultKind::DeadlineExceeded);
        }
        Ok(())
    }
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_ends_exactly_where_it_says() {
        let mut budget = Budget::new(None);
        for _ in 0..STEP_BUDGET {
            assert!(budget.spend(1).is_ok());
        }
        assert_eq!(budget.spend(1), Err(FaultKind::BudgetExceeded));
    }

    #[test]
    fn a_clock_that_leaps_ends_the_evaluation_before_the_budget_does() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static SECONDS: AtomicU64 = AtomicU64::new(0);
        let mut budget = Budget::new(Some(|| Duration::from_secs(SECONDS.fetch_add(2, Ordering::Relaxed))));
        let spent = (0..STEP_BUDGET).find(|_| budget.spend(1) == Err(FaultKind::DeadlineExceeded));
        assert_eq!(spent, Some(2 * STEPS_PER_CLOCK_CHECK + 1));
    }

    #[test]
    fn a_refused_expense_leaves_nothing_for_a_smaller_one() {
        let mut budget = Budget::new(None);
        assert_eq!(budget.visit(usize::MAX), Err(FaultKind::BudgetExceeded));
        assert_eq!(budget.spend(1), Err(FaultKind::BudgetExceeded));
    }
}

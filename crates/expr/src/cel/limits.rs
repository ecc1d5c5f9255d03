//! What one expression may cost.
//!
//! Documents and messages are hostile input, so every size is capped before something recursive or
//! proportional to it runs. A step budget, not a clock, decides when an evaluation has cost too much:
//! the same expression on the same message gives the same verdict on a busy machine.

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

/// What is left of an evaluation's allowance.
#[derive(Debug)]
pub(super) struct Budget {
    remaining: u32,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { remaining: STEP_BUDGET }
    }

    /// Takes `steps` from the allowance.
    #[inline]
    pub(super) fn spend(&mut self, steps: u32) -> Result<(), FaultKind> {
        let left = self.remaining.checked_sub(steps);
        self.remaining = left.unwrap_or(0);
        left.map(|_| ()).ok_or(FaultKind::BudgetExceeded)
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
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_ends_exactly_where_it_says() {
        let mut budget = Budget::new();
        for _ in 0..STEP_BUDGET {
            assert!(budget.spend(1).is_ok());
        }
        assert_eq!(budget.spend(1), Err(FaultKind::BudgetExceeded));
    }

    #[test]
    fn a_refused_expense_leaves_nothing_for_a_smaller_one() {
        let mut budget = Budget::new();
        assert_eq!(budget.visit(usize::MAX), Err(FaultKind::BudgetExceeded));
        assert_eq!(budget.spend(1), Err(FaultKind::BudgetExceeded));
    }
}

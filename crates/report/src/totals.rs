//! How many cases there are of each sort: one counting for every format.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};
use sortie_detect::{CaseResult, Outcome, Standing};

use crate::text::counted;
use crate::{CaseCounts, Report};

/// How many cases there are of each sort. Each case is counted once, by what it counts as
/// ([`Outcome::standing`](sortie_detect::Outcome)): one that matched nothing and has indicators that nobody could evaluate is skipped,
/// and not resisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTotals {
    /// All of them: the sum of the others.
    pub cases: usize,
    /// The target gave in.
    pub exploited: usize,
    /// It gave in, and not in every way.
    pub partial: usize,
    /// It resisted.
    pub not_exploited: usize,
    /// It could not be found out.
    pub error: usize,
    /// It was not tried, or not all of it could be evaluated.
    pub skipped: usize,
    /// Of those, how many are suspicious: something was met that proves nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspicious: usize,
    /// The target cannot be attacked with it.
    pub not_applicable: usize,
    /// It was not run to its end.
    pub unfinished: usize,
    /// Cases in which the model asked for what the attack wants, and the agent's client refused: counted above by their result.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempted: usize,
    /// How often the agent did its task under attack, of the attempts at cases that say what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TaskCounts>,
    /// How often it did without the attack: in the twins and controls that were played with attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controls: Option<TaskCounts>,
}

/// How often the agent did its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// So often it did.
    pub done: usize,
    /// Of so many attempts.
    pub of: usize,
}

/// `11 of 12`.
impl Display for TaskCounts {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.done, self.of)
    }
}

impl TaskCounts {
    fn add(&mut self, done: bool) {
        self.of += 1;
        self.done += usize::from(done);
    }
}

impl RunTotals {
    /// The share of tasks done in a few words: under attack, and without it; `None` where nobody knows.
    pub fn tasks_done(&self) -> Option<String> {
        let under = self.tasks.map(|tasks| tasks.to_string());
        let without = self.controls.map(|controls| format!("{controls} without the attack"));
        let shares: Vec<_> = under.into_iter().chain(without).collect();
        (!shares.is_empty()).then(|| shares.join(", and in "))
    }

    /// Counts the cases of a report.
    pub fn of(report: &Report) -> Self {
        let mut totals = Self { unfinished: report.unfinished.len(), ..Self::default() };
        for run in &report.runs {
            *match counted_as(run) {
                CaseResult::Exploited => &mut totals.exploited,
                CaseResult::Partial => &mut totals.partial,
                CaseResult::NotExploited => &mut totals.not_exploited,
                CaseResult::Error => &mut totals.error,
                CaseResult::Skipped => &mut totals.skipped,
                CaseResult::NotApplicable => &mut totals.not_applicable,
            } += 1;
            totals.attempted += usize::from(!run.attempted.is_empty());
            totals.suspicious += usize::from(is_suspicious(run));
            let attempts = run.attempts.iter().map(|attempt| attempt.task);
            let once = std::iter::once(run.task).filter(|_| run.attempts.is_empty());
            for task in attempts.chain(once).flatten() {
                totals.tasks.get_or_insert_default().add(task.done);
            }
            let controls = run.attempts.iter().map(|attempt| attempt.control);
            let own = run.control.as_ref().map(|control| control.done);
            let once = std::iter::once(own).filter(|_| run.attempts.is_empty());
            for done in controls.chain(once).flatten() {
                totals.controls.get_or_insert_default().add(done);
            }
        }
        totals.cases = report.runs.len() + totals.unfinished;
        totals
    }

    /// The same in the columns of suites.
    pub fn counts(self) -> CaseCounts {
        CaseCounts {
            cases: self.cases,
            exploited: self.exploited + self.partial,
            resisted: self.not_exploited,
            undecided: self.error + self.skipped + self.unfinished,
            not_applicable: self.not_applicable,
        }
    }
}

/// Whether something was met that proves nothing.
pub(crate) fn is_suspicious(run: &Outcome) -> bool {
    run.standing == Some(Standing::Skipped) && !run.hints.is_empty()
}

/// Whether a count needs not be written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The word that a case is counted under.
fn counted_as(run: &Outcome) -> CaseResult {
    match run.standing {
        Some(Standing::Exploited) if run.verdict.result == CaseResult::Partial => CaseResult::Partial,
        Some(Standing::Exploited) => CaseResult::Exploited,
        Some(Standing::Resisted) => CaseResult::NotExploited,
        Some(Standing::Skipped) => CaseResult::Skipped,
        Some(Standing::Undecided) => CaseResult::Error,
        None => CaseResult::NotApplicable,
    }
}

/// One line for people: `4 cases: 3 exploited, 1 not_exploited`.
impl Display for RunTotals {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}", counted(self.cases, "case", "cases"))?;
        let sorts = [
            (self.exploited, CaseResult::Exploited.as_str()),
            (self.partial, CaseResult::Partial.as_str()),
            (self.not_exploited, CaseResult::NotExploited.as_str()),
            (self.error, CaseResult::Error.as_str()),
            (self.skipped, CaseResult::Skipped.as_str()),
            (self.not_applicable, CaseResult::NotApplicable.as_str()),
            (self.unfinished, "not run"),
        ];
        for (index, (count, word)) in sorts.into_iter().filter(|(count, _)| *count > 0).enumerate() {
            write!(out, "{} {count} {word}", if index == 0 { ":" } else { "," })?;
        }
        if self.suspicious > 0 {
            write!(out, "; {} suspicious", self.suspicious)?;
        }
        match self.attempted {
            0 => Ok(()),
            count => write!(out, "; {count} attempted, and refused by the agent's client"),
        }
    }
}

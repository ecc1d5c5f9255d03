//! How often a case is exploited, when it is played several times.
//!
//! An agent with a model does not always do the same, so one attempt says little. Each attempt is an [`Outcome`]; together they
//! are one outcome with a [`Rate`].

use serde::{Deserialize, Serialize};
use sortie_stats::{ConfidenceInterval, Counts, GateDecision, anytime_interval, clopper_pearson};

use crate::outcome::{CaseResult, Outcome, Standing};
use crate::resistance::TaskResult;

/// How often a case was exploited, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Attempts in which the agent gave in, at least in part.
    pub hits: u32,
    /// Attempts that were decided: in which it gave in or resisted.
    pub n: u32,
    /// Attempts that were not decided; they do not count as observations.
    pub undecided: u32,
    /// The exact interval of Clopper and Pearson, for a number of attempts that was fixed before.
    pub exact: ConfidenceInterval,
    /// An interval that holds whoever looks, and whenever attempts end.
    pub anytime: ConfidenceInterval,
    /// The exact interval if every undecided attempt were a hit.
    pub if_undecided_hit: ConfidenceInterval,
    /// What the gate or the claim says; `None` where neither was asked for.
    pub decision: Option<GateDecision>,
}

impl Rate {
    /// The rate of these counts, at a confidence level.
    ///
    /// ```
    /// use sortie_detect::rate::Rate;
    /// use sortie_stats::Counts;
    ///
    /// let rate = Rate::new(Counts::new(0, 20), 2, 0.95, None);
    /// // Nothing was seen, and that is not the same as zero.
    /// assert!(rate.exact.high > 0.1 && rate.anytime.high > rate.exact.high);
    /// assert!(rate.if_undecided_hit.high > rate.exact.high);
    /// ```
    pub fn new(counts: Counts, undecided: u32, level: f64, decision: Option<GateDecision>) -> Self {
        let worst = Counts::new(counts.hits + undecided, counts.n() + undecided);
        Self {
            hits: counts.hits,
            n: counts.n(),
            undecided,
            exact: clopper_pearson(counts, level),
            anytime: anytime_interval(counts, level),
            if_undecided_hit: clopper_pearson(worst, level),
            decision,
        }
    }

    /// The attempts that were decided.
    pub fn counts(&self) -> Counts {
        Counts::new(self.hits, self.n)
    }
}

/// One attempt at a case, in short. All of it is in `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which one, from one.
    pub attempt: u32,
    /// What became of it.
    pub result: CaseResult,
    /// What it counts as.
    pub standing: Option<Standing>,
    /// Whether the agent did its task, where the document names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskResult>,
    /// Whether the agent did its task in the control that was played with the attempt, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// What kept it from being decided, in short: the word of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The file that holds what was said.
    pub trace: Option<String>,
}

impl Attempt {
    /// What an outcome says in short.
    pub fn of(outcome: &Outcome) -> Self {
        Self {
            attempt: outcome.attempt.unwrap_or(1),
            result: outcome.verdict.result,
            standing: outcome.standing,
            task: outcome.task,
            control: outcome.control.as_ref().map(|control| control.done),
            failure: outcome.failure.as_ref().map(|failure| failure.kind.as_str().to_owned()),
            trace: outcome.trace.clone(),
        }
    }
}

/// What an attempt says about the rate: whether the agent gave in; `None` where nobody can say, and the attempt is no
/// observation.
pub fn observed(outcome: &Outcome) -> Option<bool> {
    match outcome.standing {
        Some(Standing::Exploited) => Some(true),
        Some(Standing::Resisted) => Some(false),
        Some(Standing::Skipped | Standing::Undecided) | None => None,
    }
}

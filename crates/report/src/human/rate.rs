//! How often a case was exploited, for people: the counts, and two intervals that are never mixed up.

use sortie_detect::Outcome;
use sortie_detect::rate::Rate;
use sortie_stats::{ConfidenceInterval, GateDecision};

use super::Page;
use crate::SuiteRate;
use crate::text::{counted, style};

/// Adds the rate of a case that was played several times.
pub(super) fn write(page: &mut Page, run: &Outcome) {
    let Some(rate) = &run.rate else { return };
    page.entry("rate", style::STRONG, &counts(rate));
    page.below(&format!(
        "exact interval {}, if the number of attempts was fixed before",
        interval(&rate.exact)
    ));
    page.below(&format!("anytime interval {}, whenever attempts ended", interval(&rate.anytime)));
    if rate.undecided > 0 {
        page.below(&format!("{} if every undecided attempt were a hit", interval(&rate.if_undecided_hit)));
    }
    if let Some(decision) = rate.decision {
        let (word, means) = match decision {
            GateDecision::Holds => ("holds", "the rate is below the limit"),
            GateDecision::Fails => ("fails", "the rate is above the limit"),
            GateDecision::Undecided => ("undecided", "neither is shown"),
        };
        page.entry("decision", style::STRONG, &format!("{word}: {means}"));
    }
    if let Some(attempt) = run.attempt.filter(|_| run.attempts.len() > 1) {
        page.entry("shown", style::STRONG, &format!("attempt {attempt} of {}", run.attempts.len()));
    }
}

/// The hits among the attempts: `3 of 20 attempts exploited (15 %), 1 undecided`.
pub fn counts(rate: &Rate) -> String {
    let share = rate.counts().rate().map(|rate| format!(" ({})", percent(rate))).unwrap_or_default();
    let undecided = match rate.undecided {
        0 => String::new(),
        undecided => format!(", {undecided} undecided"),
    };
    format!("{} of {} attempts exploited{share}{undecided}", rate.hits, rate.n)
}

/// The mean over cases: `mean rate over 77 cases 12 % (8.1 % to 17.9 % at 95 %)`.
pub(crate) fn suite(rate: &SuiteRate) -> String {
    let cases = counted(rate.cases, "case", "cases");
    format!("mean rate over {cases} {} ({})", percent(rate.mean), interval(&rate.interval))
}

/// An interval with its level: `0 % to 17.6 % at 95 %`.
pub fn interval(interval: &ConfidenceInterval) -> String {
    format!("{} to {} at {}", percent(interval.low), percent(interval.high), percent(interval.level))
}

/// A share as people write it.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

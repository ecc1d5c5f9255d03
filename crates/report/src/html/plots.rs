//! Plots as paths of SVG: attributes only, so that the policy of the page allows them.

use std::fmt::Write as _;

use serde::Serialize;
use sortie_detect::rate::{Attempt, Rate};
use sortie_detect::{Outcome, Standing};

use super::summary::{percent, valid_interval};

/// The width of a cell. The style draws lines with dashes of 7 and gaps of 1, so that a line of several cells is several cells.
const CELL: usize = 8;

/// A row of cells, one for each attempt.
#[derive(Debug, Serialize)]
pub(super) struct Cells {
    /// In units of the drawing.
    width: usize,
    /// Those in which the agent gave in.
    exploited: String,
    /// Those in which it resisted.
    resisted: String,
    /// Those of which nobody can say.
    undecided: String,
    /// The same in words.
    label: String,
}

impl Cells {
    pub(super) fn of(attempts: &[Attempt]) -> Option<Self> {
        let mut cells = Self {
            width: attempts.len() * CELL,
            exploited: String::new(),
            resisted: String::new(),
            undecided: String::new(),
            label: String::new(),
        };
        let (mut start, mut counts) = (0, [0; 3]);
        for same in attempts.chunk_by(|one, next| sort(one.standing) == sort(next.standing)) {
            let sort = sort(same.first()?.standing);
            let path =
                [&mut cells.exploited, &mut cells.resisted, &mut cells.undecided].into_iter().nth(sort)?;
            let _ = write!(path, "M{} 6h{}", start * CELL, same.len() * CELL); // writing to a string cannot fail
            start += same.len();
            counts[sort] += same.len();
        }
        let [exploited, resisted, undecided] = counts;
        cells.label = format!("{exploited} exploited, {resisted} resisted, {undecided} undecided");
        (!attempts.is_empty()).then_some(cells)
    }
}

fn sort(standing: Option<Standing>) -> usize {
    match standing {
        Some(Standing::Exploited) => 0,
        Some(Standing::Resisted) => 1,
        Some(Standing::Skipped | Standing::Undecided) | None => 2,
    }
}

/// A rate with its interval, on a line from 0 to 1000.
#[derive(Debug, Serialize)]
pub(super) struct RateBar {
    /// `7 of 20`.
    pub(super) count: String,
    /// `35 %`; a dash without observations.
    share: String,
    /// `15 % to 59 %`.
    range: String,
    /// `exact` or `anytime`.
    name: &'static str,
    /// `holds`, `fails` or `undecided`, where there is a gate.
    decision: Option<String>,
    low: u32,
    width: u32,
    point: Option<u32>,
}

impl RateBar {
    pub(super) fn of(rate: &Rate) -> Self {
        let (name, interval) = valid_interval(rate);
        let share = rate.counts().rate();
        let (low, high) = (scaled(interval.low), scaled(interval.high));
        Self {
            count: format!("{} of {}", rate.hits, rate.n),
            share: share.map_or("–".to_owned(), percent),
            range: format!("{} to {}", percent(interval.low), percent(interval.high)),
            name,
            decision: rate.decision.map(|decision| decision.to_string()),
            low,
            width: high.saturating_sub(low).max(1),
            point: share.map(scaled),
        }
    }
}

/// A share as thousandths. Whatever a file says, it is one of them.
fn scaled(share: f64) -> u32 {
    let thousandths = (share.clamp(0.0, 1.0) * 1000.0).round();
    // Not a number becomes zero, and everything else fits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let scaled = thousandths as u32;
    scaled
}

/// All rates with their intervals, sorted: one column for each case.
#[derive(Debug, Serialize)]
pub(super) struct RatePlot {
    width: usize,
    intervals: String,
    points: String,
}

impl RatePlot {
    /// Of rates that are sorted, the highest first.
    pub(super) fn of(rates: &[&Rate]) -> Self {
        // Enough room between columns to tell them apart, and never more than a screen.
        let step = (960 / rates.len().max(1)).clamp(1, 24);
        let (mut intervals, mut points) = (String::new(), String::new());
        for (at, rate) in rates.iter().enumerate() {
            let x = at * step + step / 2;
            let (_, interval) = valid_interval(rate);
            let (low, high) = (scaled(interval.low) / 5, scaled(interval.high) / 5);
            let _ = write!(intervals, "M{x} {}V{}", 200 - high, 200 - low); // writing to a string cannot fail
            if let Some(share) = rate.counts().rate() {
                let _ = write!(points, "M{x} {}h0", 200 - scaled(share) / 5);
            }
        }
        Self { width: rates.len() * step, intervals, points }
    }
}

/// How often attempts at the same case come to different results.
#[derive(Debug)]
pub(super) struct Flips<'r> {
    /// The cases whose attempts disagree, the most divided first.
    pub(super) cases: Vec<&'r Outcome>,
    /// The share of pairs of attempts that disagree, each case counting the same.
    pub(super) disagreement: f64,
    /// Over so many cases.
    pub(super) of: usize,
}

impl<'r> Flips<'r> {
    pub(super) fn of(runs: &'r [Outcome]) -> Option<Self> {
        let mut shares: Vec<(f64, &Outcome)> = Vec::new();
        for run in runs {
            let Some(rate) = run.rate.filter(|rate| rate.n > 1) else { continue };
            let (n, hits) = (f64::from(rate.n), f64::from(rate.hits));
            shares.push((2.0 * hits * (n - hits) / (n * (n - 1.0)), run));
        }
        let of = shares.len();
        #[allow(clippy::cast_precision_loss)] // nobody has that many cases
        let disagreement = shares.iter().map(|(share, _)| share).sum::<f64>() / of.max(1) as f64;
        shares.retain(|(share, _)| *share > 0.0);
        shares.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        (of > 0).then(|| Self { cases: shares.into_iter().map(|(_, run)| run).collect(), disagreement, of })
    }
}

#[cfg(test)]
mod tests {
    use sortie_detect::CaseResult;
    use sortie_stats::Counts;

    use super::*;

    fn attempts(standings: &[Option<Standing>]) -> Vec<Attempt> {
        let attempt = |(at, standing): (usize, &Option<Standing>)| Attempt {
            attempt: u32::try_from(at).unwrap_or_default() + 1,
            result: CaseResult::Error,
            standing: *standing,
            task: None,
            control: None,
            failure: None,
            trace: None,
        };
        standings.iter().enumerate().map(attempt).collect()
    }

    #[test]
    fn equal_attempts_in_a_row_are_one_line() {
        let (hit, clean) = (Some(Standing::Exploited), Some(Standing::Resisted));
        let cells = Cells::of(&attempts(&[hit, hit, clean, None, hit])).unwrap();
        assert_eq!((cells.width, cells.exploited.as_str()), (40, "M0 6h16M32 6h8"));
        assert_eq!((cells.resisted.as_str(), cells.undecided.as_str()), ("M16 6h8", "M24 6h8"));
        assert_eq!(cells.label, "3 exploited, 1 resisted, 1 undecided");
        assert!(Cells::of(&[]).is_none());
    }

    #[test]
    fn a_rate_shows_the_interval_that_holds() {
        let rate = Rate::new(Counts::new(7, 20), 1, 0.95, None);
        let bar = RateBar::of(&rate);
        assert_eq!((bar.count.as_str(), bar.share.as_str(), bar.name), ("7 of 20", "35 %", "exact"));
        assert_eq!((bar.low, bar.point), (154, Some(350)));
        let gated = Rate { decision: Some(sortie_stats::GateDecision::Fails), ..rate };
        assert_eq!(RateBar::of(&gated).name, "anytime");
        let broken = RateBar::of(&Rate {
            exact: sortie_stats::ConfidenceInterval { low: f64::NAN, high: 7.0, level: 0.95 },
            ..rate
        });
        assert_eq!((broken.low, broken.width), (0, 1000));
    }
}

//! How many cases there are of each sort, in one line.

use std::fmt::Write as _;

use sortie_detect::{CaseResult, Outcome, Standing};

use crate::Report;
use crate::text::counted;

pub(super) fn totals(report: &Report) -> String {
    let mut counts: Vec<_> = CaseResult::ALL
        .iter()
        .filter_map(|result| {
            let count = report.runs.iter().filter(|run| run.verdict.result == *result).count();
            (count > 0).then(|| format!("{count} {result}"))
        })
        .collect();
    if !report.unfinished.is_empty() {
        counts.push(format!("{} not played", report.unfinished.len()));
    }
    let all = report.runs.len() + report.unfinished.len();
    let mut text = counted(all, "case", "cases");
    if !counts.is_empty() {
        let _ = write!(text, ": {}", counts.join(", ")); // memory takes everything
    }
    let is_skipped = |run: &&Outcome| run.document().is_some() && run.standing == Some(Standing::Skipped);
    let skipped = report.runs.iter().filter(is_skipped).count();
    if skipped > 0 {
        // Otherwise nobody would know why a `not_exploited` ends with 3.
        let _ = write!(text, "; {skipped} with indicators that cannot be evaluated here");
    }
    text
}

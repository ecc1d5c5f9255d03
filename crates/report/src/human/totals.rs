//! How many cases there are of each sort, in one line.

use std::fmt::Write as _;

use sortie_detect::Standing;
use sortie_engine::cases::CaseVerdict;
use sortie_oatf::AttackResult;

use crate::text::counted;
use crate::{Entry, Report};

pub(super) fn totals(report: &Report) -> String {
    let words = [
        AttackResult::Exploited.as_str(),
        AttackResult::Partial.as_str(),
        AttackResult::NotExploited.as_str(),
        AttackResult::Error.as_str(),
        CaseVerdict::Skipped.as_str(),
        CaseVerdict::NotApplicable.as_str(),
    ];
    let mut counts: Vec<_> = words
        .iter()
        .filter_map(|word| {
            let count = report.runs.iter().filter(|run| verdict(run) == *word).count();
            (count > 0).then(|| format!("{count} {word}"))
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
    let is_skipped =
        |run: &&Entry| matches!(run, Entry::Document(_)) && run.standing() == Some(Standing::Skipped);
    let skipped = report.runs.iter().filter(is_skipped).count();
    if skipped > 0 {
        // Otherwise nobody would know why a `not_exploited` ends with 3.
        let _ = write!(text, "; {skipped} with indicators that cannot be evaluated here");
    }
    text
}

/// What came of a case, in one word.
pub(crate) fn verdict(run: &Entry) -> &'static str {
    match run {
        Entry::Document(run) => run.verdict.result.as_str(),
        Entry::Unplayed(_) => CaseVerdict::NotApplicable.as_str(),
        Entry::Evaluator(result) => result.verdict.as_str(),
    }
}

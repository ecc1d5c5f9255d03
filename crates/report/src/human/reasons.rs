//! What was not decided without anything having gone wrong, by reason.

use std::collections::BTreeMap;
use std::io::{self, Write};

use sortie_detect::Standing;

use super::document::why_undecided;
use crate::text::{counted, line};
use crate::{Entry, Report};

/// So many ids are shown under one reason.
const SHOWN: usize = 3;

/// Skipped cases, those that do not apply, and those that were not played to their end.
pub(super) fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut said = false;
    for (word, standing) in [("skipped", Some(Standing::Skipped)), ("not applicable", None)] {
        for (reason, ids) in by_reason(report, standing) {
            group(out, word, &ids, &reason)?;
            said = true;
        }
    }
    let unfinished: Vec<&str> = report.unfinished.iter().map(String::as_str).collect();
    if !unfinished.is_empty() {
        group(out, "not played", &unfinished, "the run ended before")?;
        said = true;
    }
    if said { writeln!(out) } else { Ok(()) }
}

fn group(out: &mut dyn Write, word: &str, ids: &[&str], reason: &str) -> io::Result<()> {
    writeln!(out, "{word}: {}: {}", counted(ids.len(), "case", "cases"), line(reason))?;
    let more = ids.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    writeln!(out, "  {}{more}", line(&ids[..ids.len().min(SHOWN)].join(", ")))
}

/// The cases that count as this, by reason: the most common first.
fn by_reason(report: &Report, standing: Option<Standing>) -> Vec<(String, Vec<&str>)> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for run in report.runs.iter().filter(|run| run.standing() == standing) {
        reasons.entry(reason(run)).or_default().push(run.id());
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    reasons
}

/// Why a case was not decided, in words for people.
pub(crate) fn reason(run: &Entry) -> String {
    match run {
        Entry::Document(run) => why_undecided(run).map(|(_, why)| why).unwrap_or_default(),
        Entry::Unplayed(unplayed) => unplayed.reason.clone(),
        Entry::Evaluator(result) => result.reason.clone(),
    }
}

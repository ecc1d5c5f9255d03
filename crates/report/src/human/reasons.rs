//! What was not decided without anything having gone wrong, by reason.

use std::collections::BTreeMap;
use std::io::{self, Write};

use sortie_detect::Standing;
use sortie_engine::cases::CaseVerdict;

use super::document::why_undecided;
use crate::text::{counted, line};
use crate::{Entry, Report};

/// So many ids are shown under one reason.
const SHOWN: usize = 3;

/// Skipped cases, those that do not apply, and those that were not played to their end.
pub(super) fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut said = false;
    for (word, reasons) in [("skipped", skipped(report)), ("not applicable", not_applicable(report))] {
        for (reason, ids) in reasons {
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

fn skipped(report: &Report) -> BTreeMap<String, Vec<&str>> {
    let skipped = report.runs.iter().filter(|run| run.standing() == Some(Standing::Skipped));
    by_reason(skipped.map(|run| (run, reason(run))))
}

fn not_applicable(report: &Report) -> BTreeMap<String, Vec<&str>> {
    by_reason(report.runs.iter().filter(|run| run.standing().is_none()).map(|run| (run, reason(run))))
}

fn by_reason<'r>(runs: impl Iterator<Item = (&'r Entry, String)>) -> BTreeMap<String, Vec<&'r str>> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (run, reason) in runs {
        reasons.entry(reason).or_default().push(run.id());
    }
    reasons
}

/// Why a case was not decided, in words for people.
pub(crate) fn reason(run: &Entry) -> String {
    match run {
        Entry::Document(run) => why_undecided(run).map(|(_, why)| why).unwrap_or_default(),
        Entry::Unplayed(unplayed) => unplayed.reason.clone(),
        Entry::Evaluator(result) if result.reason.is_empty() => {
            CaseVerdict::as_str(result.verdict).to_owned()
        }
        Entry::Evaluator(result) => result.reason.clone(),
    }
}

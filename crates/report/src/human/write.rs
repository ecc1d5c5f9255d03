//! The whole report, in its order.

use std::io::{self, Write};

use sortie_detect::Standing;
use sortie_engine::cases::{CaseResult, DecidedBy};

use super::opinion::Opinion;
use super::totals::totals;
use super::{document, evaluator, models, reasons, suites};
use crate::text::{line, style};
use crate::{Entry, Report, View};

/// Writes a report for people.
///
/// Documents alone are told one by one, in their order. Where there are more, findings come first, then what went wrong, and
/// of the rest only what it takes to know why the run counts as what it does.
pub fn write_human(out: &mut dyn Write, report: &Report, view: View) -> io::Result<()> {
    let alone = report.suites.is_empty() && report.runs.iter().all(|run| matches!(run, Entry::Document(_)));
    if alone {
        for run in &report.runs {
            writeln!(out, "{}", rendered(run, view))?;
        }
    } else {
        for wanted in [is_finding, is_undecided, is_disputed] {
            let mut told: Vec<_> = report.runs.iter().filter(|run| wanted(run)).collect();
            told.sort_by_key(|run| urgency(run));
            for run in told {
                writeln!(out, "{}", rendered(run, view))?;
            }
        }
        write_resisting(out, report, view)?;
    }
    if !alone || !report.unfinished.is_empty() {
        reasons::write(out, report)?;
    }
    for suite in &report.suites {
        suites::write(out, suite, view.color)?;
    }
    if let Some(models) = &report.models {
        models::write(out, models, view.color)?;
    }
    if let Some(why) = &report.stopped {
        let word = style::paint(view.color, style::WARNING, "ended early");
        writeln!(out, "{word}: {}", line(why))?;
    }
    writeln!(out, "{}", totals(report))
}

/// One case, as it is shown to people.
pub(crate) fn rendered(run: &Entry, view: View) -> String {
    match run {
        Entry::Document(run) => document::rendered(run, view.color, view.live),
        Entry::Unplayed(unplayed) => document::unplayed(unplayed),
        Entry::Evaluator(result) => {
            // What does not apply to the target is no resistance either.
            evaluator::rendered(result, run.standing().unwrap_or(Standing::Skipped), view.color)
        }
    }
}

/// Documents first, which stand for themselves; then the worst.
fn urgency(run: &Entry) -> Option<usize> {
    let Entry::Evaluator(result) = run else { return None };
    let worst_first = ["critical", "high", "medium", "low"];
    Some(worst_first.iter().position(|level| *level == result.severity).unwrap_or(worst_first.len()))
}

fn is_finding(run: &Entry) -> bool {
    run.standing() == Some(Standing::Exploited)
}

fn is_undecided(run: &Entry) -> bool {
    run.standing() == Some(Standing::Undecided)
}

/// A judge that is not at one with itself is looked at, whatever it says in the end.
fn is_disputed(run: &Entry) -> bool {
    let disputed = |result: &CaseResult| match &result.decided_by {
        Some(DecidedBy::Judge { opinion }) => Opinion::of(opinion).is_disputed(),
        Some(DecidedBy::Check { .. }) | None => false,
    };
    matches!(run, Entry::Evaluator(result) if disputed(result)) && run.standing() == Some(Standing::Resisted)
}

/// A line for each document that was resisted: there are few of them, and each is a page in the JSON.
fn write_resisting(out: &mut dyn Write, report: &Report, view: View) -> io::Result<()> {
    let resisting = report.runs.iter().filter_map(|run| match run {
        Entry::Document(run) if run.standing() == Standing::Resisted => Some(run),
        _ => None,
    });
    let mut said = false;
    for run in resisting {
        let outcome = style::paint(view.color, style::NOTE, &document::outcome(run));
        writeln!(out, "{outcome}: {}", line(&document::title(&run.document)))?;
        said = true;
    }
    if said { writeln!(out) } else { Ok(()) }
}

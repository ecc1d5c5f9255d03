//! The whole report, in its order.

use std::io::{self, Write};

use sortie_detect::{CaseInfo, Judged, Opinion, Outcome, Standing};
use sortie_evaluators::Severity;

use super::totals::totals;
use super::{document, evaluator, models, reasons, suites};
use crate::text::{line, style};
use crate::{Report, View};

/// Writes a report for people.
///
/// Documents alone are told one by one, in their order. Where there are more, findings come first, then what went wrong, and
/// of the rest only what it takes to know why the run counts as what it does.
pub fn write_human(out: &mut dyn Write, report: &Report, view: View) -> io::Result<()> {
    let alone = report.suites.is_empty()
        && report.runs.iter().all(|run| run.document().is_some() && run.standing.is_some());
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
pub(crate) fn rendered(run: &Outcome, view: View) -> String {
    match &run.case {
        CaseInfo::Document { document } if run.standing.is_none() => document::unplayed(run, document),
        CaseInfo::Document { document } => document::rendered(run, document, view.color, view.live),
        CaseInfo::Evaluator { evaluator } => evaluator::rendered(run, evaluator, view.color),
    }
}

/// Documents first, which stand for themselves; then the worst.
fn urgency(run: &Outcome) -> Option<Severity> {
    run.verdict.severity
}

fn is_finding(run: &Outcome) -> bool {
    run.standing == Some(Standing::Exploited)
}

fn is_undecided(run: &Outcome) -> bool {
    run.standing == Some(Standing::Undecided)
}

/// A judge that is not at one with itself is looked at, whatever it says in the end.
fn is_disputed(run: &Outcome) -> bool {
    let opinion = run.judged.as_ref().and_then(Judged::opinion);
    opinion.is_some_and(Opinion::is_disputed) && run.standing == Some(Standing::Resisted)
}

/// A line for each document that was resisted: there are few of them, and each is a page in the JSON.
fn write_resisting(out: &mut dyn Write, report: &Report, view: View) -> io::Result<()> {
    let resisting = report.runs.iter().filter(|run| run.standing == Some(Standing::Resisted));
    let mut said = false;
    for (run, document) in resisting.filter_map(|run| Some((run, run.document()?))) {
        let outcome = style::paint(view.color, style::NOTE, &document::outcome(run));
        writeln!(out, "{outcome}: {}", line(&document::title(document)))?;
        said = true;
    }
    if said { writeln!(out) } else { Ok(()) }
}

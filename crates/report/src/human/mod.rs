//! For people: what was found first, then what is not known, then how much was tried.

mod baseline;
mod document;
mod evaluator;
mod findings;
mod models;
pub(crate) mod rate;
mod reasons;
mod sandbox;
mod suites;

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;
use sortie_detect::{CaseInfo, FailureKind, Judged, Opinion, Outcome, Standing};

use crate::grouping::Grouping;
use crate::text::{line, style};
use crate::totals::is_suspicious;
use crate::{Report, RunTotals, View};

pub use document::{evidence, outcome, why_undecided};
pub(crate) use document::{message, reach, refusal, title};
pub(crate) use findings::rendered as rendered_finding;
pub(crate) use models::text as models_text;
pub(crate) use sandbox::text as sandbox_text;
pub(crate) use suites::coverage;

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
        let grouping = Grouping::of(report);
        findings::write(out, &grouping, view.color)?;
        let is_grouped = |run: &Outcome| {
            let is_unusable =
                run.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::ControlFailed);
            grouping.finding_of(run).is_some() || grouping.is_follower(run) || is_unusable
        };
        let parts = [
            |run: &Outcome| run.standing == Some(Standing::Exploited),
            |run: &Outcome| run.standing == Some(Standing::Undecided),
            is_suspicious,
            is_disputed,
        ];
        for wanted in parts {
            let mut told: Vec<_> = report.runs.iter().filter(|run| wanted(run) && !is_grouped(run)).collect();
            // Documents first, which stand for themselves; then the worst.
            told.sort_by_key(|run| run.evaluator().and(run.verdict.severity));
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
    if !report.baseline.is_empty() {
        baseline::write(out, &report.baseline, view.color)?;
    }
    if let Some(models) = &report.models {
        models::write(out, models, view.color)?;
    }
    if let Some(sandbox) = &report.sandbox {
        sandbox::write(out, sandbox, view.color)?;
    }
    if let Some(imports) = &report.imports {
        write!(out, "{}", imports.to_human())?;
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
        let rate = run.rate.as_ref().map(|rate| format!("; {}", rate::counts(rate))).unwrap_or_default();
        writeln!(out, "{outcome}: {}{rate}", line(&document::title(document)))?;
        said = true;
    }
    if said { writeln!(out) } else { Ok(()) }
}

/// How many cases there are of each sort, in one line.
fn totals(report: &Report) -> String {
    let totals = RunTotals::of(report);
    let mut text = totals.to_string();
    if let Some(done) = totals.tasks_done() {
        let _ = write!(text, "; task done in {done}");
    }
    if let Some(rate) = &report.rate {
        let _ = write!(text, "; {}", rate::suite(rate));
    }
    let is_skipped = |run: &&Outcome| run.document().is_some() && run.standing == Some(Standing::Skipped);
    let skipped = report.runs.iter().filter(is_skipped).count();
    if skipped > 0 {
        // Otherwise nobody would know why a document whose verdict is `not_exploited` counts as skipped.
        let _ = write!(text, "; {skipped} with indicators that cannot be evaluated here");
    }
    text
}

/// How far the words at the start of lines are padded, so that what they speak of is aligned.
const WORD: usize = 12;

struct Page {
    text: String,
    color: bool,
}

// Nothing here can fail: it is written to memory.
impl Page {
    fn new(color: bool) -> Self {
        Self { text: String::new(), color }
    }

    /// What came of it, and what it is.
    fn headline(&mut self, standing: Option<Standing>, outcome: &str, title: &str) {
        let style = match standing {
            Some(Standing::Resisted) => style::NOTE,
            Some(Standing::Exploited) => style::ERROR,
            // What does not apply to the target is not resistance either.
            Some(Standing::Skipped | Standing::Undecided) | None => style::WARNING,
        };
        let outcome = style::paint(self.color, style, outcome);
        let title = style::paint(self.color, style::STRONG, &line(title));
        let _ = writeln!(self.text, "{outcome}: {title}");
    }

    fn from(&mut self, file: &str) {
        let _ = writeln!(self.text, "  --> {}", line(file));
    }

    /// A word and what it is about. Later lines stand below the first.
    fn entry(&mut self, word: &str, style: Style, text: &str) {
        let padding = WORD.saturating_sub(word.len());
        let word = style::paint(self.color, style, word);
        let _ = writeln!(self.text, "  {word}{:padding$} {}", "", line(text));
    }

    /// A line that stands below an entry, and may be painted.
    fn below(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {:WORD$} {text}", "");
    }
}

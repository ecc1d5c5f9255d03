//! The matrix of cases and runs: what became of each case in this run, and in others that were given to stand beside it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use sortie_detect::Outcome;

use super::HtmlOptions;
use super::summary::time;
use super::view::{rank, short, standing_word};
use crate::Report;
use crate::baseline::{attacked, observed};
use crate::text::counted;

/// So many rows the matrix has.
const ROWS: usize = 500;

/// Cases and runs: a row for each case, a column for each run.
#[derive(Debug, Serialize)]
pub(super) struct MatrixView {
    columns: Vec<MatrixColumn>,
    /// Whether there is a column for the baseline.
    has_baseline: bool,
    rows: Vec<MatrixRow>,
    sentence: String,
    /// What is not shown, and how to see it.
    left_out: Option<String>,
}

/// A run.
#[derive(Debug, Serialize)]
struct MatrixColumn {
    name: String,
    /// What it attacked, and when.
    about: String,
}

/// A case.
#[derive(Debug, Serialize)]
struct MatrixRow {
    id: String,
    /// Whether it is among the cases of this page, so that it can be gone to.
    is_listed: bool,
    differs: bool,
    cells: Vec<Option<MatrixCell>>,
    baseline: Option<(&'static str, String)>,
}

/// What became of a case in a run.
#[derive(Debug, Serialize)]
struct MatrixCell {
    standing: &'static str,
    /// Attempts that were exploited and attempts that were decided: `3/20`.
    counts: String,
    /// The decision of the gate; what the case counts as, where there is none.
    word: String,
    /// Whether the run played another version of the document or evaluator.
    is_other: bool,
}

/// A run, ready to be looked up.
struct Runs<'r> {
    outcomes: HashMap<&'r str, &'r Outcome>,
    digests: Option<&'r BTreeMap<String, String>>,
}

impl<'r> Runs<'r> {
    fn new(report: &'r Report, digests: Option<&'r BTreeMap<String, String>>) -> Self {
        Self { outcomes: report.runs.iter().map(|run| (run.id.as_str(), run)).collect(), digests }
    }

    fn digest(&self, id: &str) -> Option<&str> {
        self.digests?.get(id).map(String::as_str)
    }
}

impl MatrixView {
    /// `None` where there is nothing to compare with. `listed` are the cases that have a row in the list of the page.
    pub(super) fn of(report: &Report, options: &HtmlOptions<'_>, listed: &[&Outcome]) -> Option<Self> {
        if options.beside.is_empty() && report.baseline.is_empty() {
            return None;
        }
        let mut columns = vec![MatrixColumn { name: "this run".to_owned(), about: about(report) }];
        let mut runs = vec![Runs::new(report, options.digests)];
        for other in options.beside {
            columns.push(MatrixColumn { name: short(other.name), about: about(other.report) });
            runs.push(Runs::new(other.report, Some(other.digests)));
        }
        let ids: BTreeSet<&str> = runs.iter().flat_map(|run| run.outcomes.keys().copied()).collect();
        let listed: BTreeSet<&str> = listed.iter().map(|run| run.id.as_str()).collect();
        let mut keyed: Vec<(_, MatrixRow)> = ids
            .into_iter()
            .map(|id| {
                let row = MatrixRow::of(id, &runs, report, listed.contains(id));
                let worst =
                    runs.iter().filter_map(|run| run.outcomes.get(id)).map(|run| rank(run.standing)).max();
                ((Reverse(row.differs), Reverse(worst)), row)
            })
            .collect();
        // What differs comes first, and of that what is worst.
        keyed.sort_by_key(|(key, _)| *key);
        let differing = keyed.iter().filter(|(_, row)| row.differs).count();
        let all = counted(keyed.len(), "case", "cases");
        let sentence = match runs.len() {
            1 => format!("{all}, and how they stand against the baseline."),
            runs => format!(
                "{differing} of {all} did not count as the same in all of the {runs} runs; they come first."
            ),
        };
        let more = keyed.len().saturating_sub(ROWS);
        keyed.truncate(ROWS);
        Some(Self {
            columns,
            has_baseline: !report.baseline.is_empty(),
            rows: keyed.into_iter().map(|(_, row)| row).collect(),
            sentence,
            left_out: (more > 0).then(|| left_out(more, differing)),
        })
    }
}

impl MatrixRow {
    fn of(id: &str, runs: &[Runs<'_>], report: &Report, is_listed: bool) -> Self {
        let own = runs.first().and_then(|run| run.digest(id));
        let is_other =
            |run: &Runs<'_>| matches!((own, run.digest(id)), (Some(own), Some(other)) if own != other);
        let cell =
            |run: &Runs<'_>| run.outcomes.get(id).map(|outcome| MatrixCell::of(outcome, is_other(run)));
        let cells: Vec<Option<MatrixCell>> = runs.iter().map(cell).collect();
        let mut standings = cells.iter().flatten().filter(|cell| !cell.is_other).map(|cell| cell.standing);
        let first = standings.next();
        Self {
            id: short(id),
            is_listed,
            differs: standings.any(|standing| Some(standing) != first),
            cells,
            baseline: report
                .baseline
                .get(id)
                .map(|note| (note.state.as_str(), note.detail.as_deref().map(short).unwrap_or_default())),
        }
    }
}

impl MatrixCell {
    fn of(run: &Outcome, is_other: bool) -> Self {
        let (seen, _) = observed(run);
        let decision = run.rate.and_then(|rate| rate.decision);
        let standing = standing_word(run.standing);
        Self {
            standing,
            counts: if seen.n() == 0 { "–".to_owned() } else { format!("{}/{}", seen.hits, seen.n()) },
            word: decision.map_or_else(|| standing.replace('_', " "), |decision| decision.to_string()),
            is_other,
        }
    }
}

/// What a run attacked, and when it began.
fn about(report: &Report) -> String {
    let started = report.run.as_ref().map(|run| time(&run.started));
    let attacked = Some(attacked(report)).filter(|attacked| !attacked.is_empty());
    short(&attacked.into_iter().chain(started).collect::<Vec<_>>().join(", "))
}

fn left_out(more: usize, differing: usize) -> String {
    let kind = match differing.checked_sub(ROWS) {
        None | Some(0) => "They counted as the same in all runs.".to_owned(),
        Some(hidden) => format!("{hidden} of them differ between runs."),
    };
    format!(
        "{} not shown, to keep this page quick. {kind} `sortie compare RUN_A RUN_B` lists all cases of two runs.",
        counted(more, "more case is", "more cases are")
    )
}

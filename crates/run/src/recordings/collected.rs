//! What recordings came to, as far as a report shows them.

use std::collections::BTreeMap;

use sortie_detect::rate::{Attempt, Rate};
use sortie_detect::{CaseInfo, CaseResult, Outcome, Standing};
use sortie_report::imports::{Difference, ImportedSession, Imports, PassedOver};
use sortie_stats::Counts;

use crate::repeats::MAX_UNDECIDED;

/// How many attempts of a case are listed. All are counted.
const MAX_ATTEMPTS: usize = 200;
/// How many sessions are listed with what they lost. All are counted.
const MAX_SESSIONS: usize = 200;
/// How many files are listed that were passed over.
const MAX_PASSED_OVER: usize = 100;

/// Where in what was asked for a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    pub(super) file: usize,
    pub(super) session: usize,
}

/// What documents make of a recording.
pub(super) struct Evaluated {
    pub(super) session: Option<ImportedSession>,
    pub(super) cases: Vec<EvaluatedCase>,
    pub(super) model: Option<String>,
}

/// What one document makes of a recording.
pub(super) struct EvaluatedCase {
    pub(super) id: String,
    pub(super) document: usize,
    pub(super) standing: Option<Standing>,
    /// The whole of it, where a report may show that.
    pub(super) outcome: Option<Outcome>,
}

/// What all evaluations came to, as far as a report shows them.
#[derive(Default)]
pub(super) struct Collected {
    cells: BTreeMap<(String, String), Cell>,
    pub(super) imports: Imports,
    sessions: BTreeMap<Order, ImportedSession>,
    differences: BTreeMap<(Order, String), Difference>,
}

/// All recordings of one document and one model.
#[derive(Default)]
struct Cell {
    /// The first outcome of each standing.
    shown: BTreeMap<u8, (Order, Outcome)>,
    attempts: BTreeMap<Order, Attempt>,
    hits: u32,
    n: u32,
    undecided: u32,
    document: usize,
}

impl Collected {
    /// Which of these cases a report may show as a whole.
    pub(super) fn lists(&self, order: Order, cases: &[EvaluatedCase], model: Option<&str>) -> Vec<bool> {
        let model = model.unwrap_or_default();
        let cell = |case: &EvaluatedCase| self.cells.get(&(case.id.clone(), model.to_owned()));
        let lists = |case: &EvaluatedCase| {
            cell(case).is_none_or(|cell| cell.lists(order) || cell.is_first(order, case.standing))
        };
        cases.iter().map(lists).collect()
    }

    pub(super) fn add(&mut self, order: Order, evaluated: Evaluated) {
        let Evaluated { session, cases, model } = evaluated;
        self.imports.sessions += 1;
        for EvaluatedCase { id, document, standing, outcome } in cases {
            if let (Some(session), Some(outcome)) = (&session, &outcome)
                && let Some(difference) = Difference::of(session, outcome)
            {
                self.imports.differing += 1;
                self.differences.insert((order, id.clone()), difference);
                if self.differences.len() > MAX_SESSIONS {
                    self.differences.pop_last();
                }
            }
            let cell = self.cells.entry((id, model.clone().unwrap_or_default())).or_default();
            cell.document = document;
            cell.add(order, standing, outcome);
        }
        if let Some(session) = session {
            self.imports.count(&session);
            self.sessions.insert(order, session);
            if self.sessions.len() > MAX_SESSIONS {
                self.sessions.pop_last();
            }
        }
    }

    pub(super) fn finish(mut self, mut passed_over: Vec<PassedOver>) -> (Vec<Outcome>, Imports) {
        passed_over.sort();
        self.imports.passed_over_files = passed_over.len() as u64;
        passed_over.truncate(MAX_PASSED_OVER);
        self.imports.passed_over = passed_over;
        self.imports.listed = self.sessions.into_values().collect();
        self.imports.differences = self.differences.into_values().collect();
        let several = {
            let mut models: Vec<_> = self.cells.keys().map(|(_, model)| model).collect();
            models.sort_unstable();
            models.dedup();
            models.len() > 1
        };
        let mut cells: Vec<_> = self.cells.into_iter().collect();
        cells.sort_by(|a, b| (a.1.document, &a.0.0, &a.0.1).cmp(&(b.1.document, &b.0.0, &b.0.1)));
        let outcomes = cells.into_iter().filter_map(|((id, model), cell)| {
            let mut outcome = cell.joined()?;
            if several && !model.is_empty() {
                outcome.id = format!("{id} ({model})");
                if let CaseInfo::Document { document } = &mut outcome.case {
                    document.name = format!("{} ({model})", document.name);
                }
            }
            Some(outcome)
        });
        (outcomes.collect(), self.imports)
    }
}

impl Cell {
    /// Whether it is among those that are listed.
    fn lists(&self, order: Order) -> bool {
        let is_before = |last: &Order| self.attempts.len() < MAX_ATTEMPTS || order < *last;
        self.attempts.keys().next_back().is_none_or(is_before)
    }

    /// Whether it is the first of its standing.
    fn is_first(&self, order: Order, standing: Option<Standing>) -> bool {
        self.shown.get(&rank(standing)).is_none_or(|(known, _)| order < *known)
    }

    fn add(&mut self, order: Order, standing: Option<Standing>, outcome: Option<Outcome>) {
        match standing {
            Some(Standing::Exploited) => (self.hits, self.n) = (self.hits + 1, self.n + 1),
            Some(Standing::Resisted) => self.n += 1,
            Some(Standing::Skipped | Standing::Undecided) | None => self.undecided += 1,
        }
        let Some(outcome) = outcome else { return };
        if self.lists(order) {
            self.attempts.insert(order, Attempt::of(&outcome));
        }
        if self.attempts.len() > MAX_ATTEMPTS {
            self.attempts.pop_last();
        }
        if self.is_first(order, standing) {
            self.shown.insert(rank(standing), (order, outcome));
        }
    }

    /// One outcome for all of them: that of the first hit, of the first that stayed undecided where too many did, or of the first that
    /// resisted.
    fn joined(mut self) -> Option<Outcome> {
        let all = self.n + self.undecided;
        if all <= 1 {
            return self.shown.pop_first().map(|(_, (_, outcome))| outcome);
        }
        let too_many = f64::from(self.undecided) > f64::from(all) * MAX_UNDECIDED;
        let resisted = self.hits == 0 && self.n > 0 && !too_many;
        let rank = if resisted { 3 } else { *self.shown.keys().next()? };
        let (order, mut outcome) = self.shown.remove(&rank)?;
        if self.hits == 0 && too_many && outcome.standing != Some(Standing::Skipped) {
            let reason = format!("{} of {all} recordings stayed undecided", self.undecided);
            outcome.verdict.result = CaseResult::Error;
            outcome.verdict.reason.get_or_insert(reason);
            outcome.standing = Some(Standing::Undecided);
        }
        outcome.rate = Some(Rate::new(Counts::new(self.hits, self.n), self.undecided, 0.95, None));
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        outcome.attempt = self.attempts.keys().position(|known| *known == order).map(number);
        let attempts = self.attempts.into_values().enumerate();
        outcome.attempts = attempts.map(|(at, attempt)| Attempt { attempt: number(at), ..attempt }).collect();
        Some(outcome)
    }
}

/// Which outcome stands for all others: the worst.
fn rank(standing: Option<Standing>) -> u8 {
    match standing {
        Some(Standing::Exploited) => 0,
        Some(Standing::Undecided) => 1,
        Some(Standing::Skipped) => 2,
        Some(Standing::Resisted) | None => 3,
    }
}

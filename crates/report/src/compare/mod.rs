//! Two runs of the same cases: what got better, what got worse, and what is not known.
//!
//! The runs are A and B, and B is the newer one: *worse* says that it is exploited more often.

mod human;
mod markdown;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use sortie_detect::{Outcome, Standing};
use sortie_stats::{
    Alternative, BOSCHLOO_MAX_RUNS, Counts, PairedCase, boschloo_test, holm, mcnemar, runs_to_tell,
    stratified_test,
};
use sortie_syntax::closed_enum;

use crate::Report;
use crate::baseline::{attacked, observed};
use crate::text::{counted, p_value};

pub use human::write_comparison;
pub use markdown::write_comparison_markdown;

/// The version of the shape. A change that could break a reader makes it 2.
pub const VERSION: u32 = 1;

/// The level of each test.
const LEVEL: f64 = 0.05;

/// With so much probability the number of runs that would tell does.
const POWER: f64 = 0.8;

/// A run, as it is given to be compared.
#[derive(Clone, Copy, Debug)]
pub struct ComparedRun<'r> {
    /// What it is called: its folder.
    pub name: &'r str,
    /// Its report.
    pub report: &'r Report,
    /// What tells cases of the same name apart, by their ids; empty where nobody knows, and then names decide.
    pub digests: &'r BTreeMap<String, String>,
}

/// Two runs, case by case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`VERSION`].
    pub version: u32,
    /// The run that is compared with.
    pub a: RunSide,
    /// The run that is compared.
    pub b: RunSide,
    /// All cases together.
    pub overall: OverallChange,
    /// The cases of both runs, in the order of B.
    pub cases: Vec<CaseChange>,
    /// The cases that only A has.
    pub only_a: Vec<String>,
    /// The cases that only B has.
    pub only_b: Vec<String>,
    /// Cases of both runs with one name and different documents or evaluators: they are not compared.
    pub changed: Vec<String>,
    /// Cases of both runs that do not apply to the target of either.
    pub not_applicable: Vec<String>,
}

/// Which run it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSide {
    /// What it is called: its folder.
    pub name: String,
    /// When it began; `None` for recordings.
    pub started: Option<String>,
    /// What it attacked: the command of the agent and the targets.
    pub attacked: String,
}

closed_enum! {
    /// What became of a case, or of all of them, from A to B.
    ComparedResult {
        /// B is exploited more often, and that is significant.
        Worse = "worse",
        /// The rates differ, or one of them is not known, and nobody can say whether something has changed.
        Undecided = "undecided",
        /// B is exploited less often, and that is significant.
        Better = "better",
        /// No difference was seen.
        Same = "same",
    }

    /// The test of all cases together.
    OverallTest {
        /// The exact test of `McNemar`, for cases that were played once in each run.
        McNemar = "mcnemar",
        /// The exact conditional test, stratified by case.
        Stratified = "stratified",
    }
}

/// All cases together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverallChange {
    /// What became of them.
    pub result: ComparedResult,
    /// It in a sentence.
    pub sentence: String,
    /// The test.
    pub test: OverallTest,
    /// So many cases were decided in both runs.
    pub cases: usize,
    /// The mean of their rates in A; `None` where there are none.
    pub mean_a: Option<f64>,
    /// The same in B.
    pub mean_b: Option<f64>,
    /// The two-sided p-value.
    pub p_different: f64,
    /// The level of this test, and of those of single cases over all of them, in each direction.
    pub level: f64,
    /// So many cases got worse.
    pub worse: usize,
    /// So many are undecided.
    pub undecided: usize,
    /// So many got better.
    pub better: usize,
    /// In so many no difference was seen.
    pub same: usize,
}

/// One case in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseChange {
    /// The case.
    pub id: String,
    /// What became of it.
    pub result: ComparedResult,
    /// Its attempts in A.
    pub a: AttemptCounts,
    /// Its attempts in B.
    pub b: AttemptCounts,
    /// The one-sided p-value for more hits in B, adjusted for the number of cases; `None` where one of the runs decided nothing.
    pub p_more_hits: Option<f64>,
    /// The same for fewer.
    pub p_fewer_hits: Option<f64>,
    /// So many decided attempts in each run would tell such rates apart in four of five comparisons; `None` where nothing is to be
    /// told, or the number is above [`BOSCHLOO_MAX_RUNS`].
    pub runs_needed: Option<u32>,
    /// So many more than the smaller of the two runs has.
    pub more_runs: Option<u32>,
}

/// What was observed of a case in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptCounts {
    /// Attempts in which the agent gave in.
    pub hits: u32,
    /// Attempts that were decided.
    pub n: u32,
    /// Attempts that were not.
    pub undecided: u32,
}

impl AttemptCounts {
    fn of(run: Option<&Outcome>) -> Self {
        // A case that was not run to its end is as undecided as one that failed.
        let (counts, undecided) = run.map_or((Counts::default(), 1), observed);
        Self { hits: counts.hits, n: counts.n(), undecided }
    }

    fn counts(self) -> Counts {
        Counts::new(self.hits, self.n)
    }
}

impl Comparison {
    /// Compares two runs.
    ///
    /// For each case Boschloo's exact test, one-sided in both directions, with Holm's adjustment over the cases: of all cases
    /// that have not changed, any is called worse with a probability of at most 5 %, and the same for better. One attempt in each
    /// run can show no change of a single case, so such cases are undecided where they differ. Over all cases, the exact test of
    /// `McNemar` where each was played once, and the exact stratified test otherwise.
    pub fn of(a: ComparedRun<'_>, b: ComparedRun<'_>) -> Self {
        let of_a = by_id(a.report);
        let of_b = by_id(b.report);
        let mut comparison = Self {
            version: VERSION,
            a: RunSide::of(a),
            b: RunSide::of(b),
            overall: OverallChange::of(&[]),
            cases: Vec::new(),
            only_a: ids(a.report).filter(|id| !of_b.contains_key(id)).map(str::to_owned).collect(),
            only_b: Vec::new(),
            changed: Vec::new(),
            not_applicable: Vec::new(),
        };
        let mut pairs = Vec::new();
        for id in ids(b.report) {
            let now = of_b.get(id).copied().flatten();
            let applies = |run: Option<&Outcome>| run.is_none_or(|run| run.standing.is_some());
            match of_a.get(id) {
                None => comparison.only_b.push(id.to_owned()),
                Some(_) if differ(a, b, id) => {
                    comparison.changed.push(id.to_owned());
                }
                Some(then) if !applies(*then) && !applies(now) => {
                    comparison.not_applicable.push(id.to_owned());
                }
                Some(then) => pairs.push((id, AttemptCounts::of(*then), AttemptCounts::of(now))),
            }
        }
        comparison.cases = compare(&pairs);
        comparison.overall = OverallChange::of(&comparison.cases);
        comparison.overall.sentence = comparison.overall.sentence();
        comparison
    }

    /// The word above it: worse where anything got worse, all cases together or one of them.
    pub fn headline(&self) -> ComparedResult {
        if self.overall.worse > 0 { ComparedResult::Worse } else { self.overall.result }
    }

    /// What it counts as: exploited where something got worse, undecided where a case is, or where none was decided in both runs.
    pub fn standing(&self) -> Standing {
        let overall = &self.overall;
        if self.headline() == ComparedResult::Worse {
            Standing::Exploited
        } else if overall.undecided > 0 || overall.cases == 0 {
            Standing::Undecided
        } else {
            Standing::Resisted
        }
    }
}

/// The cases of a report, each with what came of it; `None` where it was not run to its end.
fn by_id(report: &Report) -> HashMap<&str, Option<&Outcome>> {
    let unfinished = report.unfinished.iter().map(|id| (id.as_str(), None));
    unfinished.chain(report.runs.iter().map(|run| (run.id.as_str(), Some(run)))).collect()
}

fn ids(report: &Report) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    let ids =
        report.runs.iter().map(|run| run.id.as_str()).chain(report.unfinished.iter().map(String::as_str));
    ids.filter(move |id| seen.insert(*id))
}

/// Whether both runs have a case of this name, and it is not the same.
fn differ(a: ComparedRun<'_>, b: ComparedRun<'_>, id: &str) -> bool {
    a.digests.get(id).zip(b.digests.get(id)).is_some_and(|(a, b)| a != b)
}

/// The cases, tested one by one and adjusted for their number.
fn compare(cases: &[(&str, AttemptCounts, AttemptCounts)]) -> Vec<CaseChange> {
    let pair =
        |a: AttemptCounts, b: AttemptCounts| PairedCase { baseline: a.counts(), candidate: b.counts() };
    let is_decided = |a: AttemptCounts, b: AttemptCounts| a.n > 0 && b.n > 0;
    let tested: Vec<PairedCase> =
        cases.iter().filter(|(_, a, b)| is_decided(*a, *b)).map(|(_, a, b)| pair(*a, *b)).collect();
    let mut known = HashMap::new();
    let mut adjusted = |alternative| {
        let mut p =
            |pair| *known.entry((pair, alternative)).or_insert_with(|| boschloo_test(pair, alternative));
        holm(&tested.iter().map(|pair| p(*pair)).collect::<Vec<_>>()).into_iter()
    };
    let (mut more, mut fewer) = (adjusted(Alternative::MoreHits), adjusted(Alternative::FewerHits));
    // The first of Holm's steps, which every case passes that is shown alone.
    let alpha = LEVEL / f64::from(u32::try_from(tested.len()).unwrap_or(u32::MAX).max(1));
    let mut needed = HashMap::new();
    let change = |(id, a, b): &(&str, AttemptCounts, AttemptCounts)| {
        let (a, b) = (*a, *b);
        let (p_more_hits, p_fewer_hits) =
            if is_decided(a, b) { (more.next(), fewer.next()) } else { (None, None) };
        let result = match (p_more_hits, p_fewer_hits) {
            (Some(p), _) if p <= LEVEL => ComparedResult::Worse,
            (_, Some(p)) if p <= LEVEL => ComparedResult::Better,
            (Some(_), _) if have_same_rate(a, b) => ComparedResult::Same,
            _ => ComparedResult::Undecided,
        };
        let rates = a.counts().rate().zip(b.counts().rate()).filter(|_| result == ComparedResult::Undecided);
        let runs_needed = rates.and_then(|(of_a, of_b)| {
            // Which of the rates is whose does not matter, nor whether hits or clean runs are counted.
            let ((a, b), (c, d)) = ((a.counts(), b.counts()), (flipped(a), flipped(b)));
            let key = [(a, b), (b, a), (c, d), (d, c)]
                .into_iter()
                .min_by_key(|(x, y)| [x.hits, x.clean, y.hits, y.clean]);
            *needed.entry(key).or_insert_with(|| runs_to_tell(of_a, of_b, alpha, POWER, BOSCHLOO_MAX_RUNS))
        });
        let more_runs = runs_needed.map(|runs| runs.saturating_sub(a.n.min(b.n)).max(1));
        CaseChange { id: (*id).to_owned(), result, a, b, p_more_hits, p_fewer_hits, runs_needed, more_runs }
    };
    cases.iter().map(change).collect()
}

fn flipped(counts: AttemptCounts) -> Counts {
    Counts::new(counts.n - counts.hits, counts.n)
}

/// Exactly, which quotients of decimals are not.
fn have_same_rate(a: AttemptCounts, b: AttemptCounts) -> bool {
    u64::from(a.hits) * u64::from(b.n) == u64::from(b.hits) * u64::from(a.n)
}

impl RunSide {
    fn of(run: ComparedRun<'_>) -> Self {
        let origin = run.report.run.as_ref();
        let started = origin.map(|origin| origin.started.clone());
        Self { name: run.name.to_owned(), started, attacked: attacked(run.report) }
    }
}

impl OverallChange {
    fn of(cases: &[CaseChange]) -> Self {
        let decided: Vec<_> = cases.iter().filter(|case| case.a.n > 0 && case.b.n > 0).collect();
        let pairs: Vec<PairedCase> = decided
            .iter()
            .map(|case| PairedCase { baseline: case.a.counts(), candidate: case.b.counts() })
            .collect();
        let is_single = pairs.iter().all(|pair| pair.baseline.n() == 1 && pair.candidate.n() == 1);
        let test = if is_single { OverallTest::McNemar } else { OverallTest::Stratified };
        let p = |alternative| match test {
            OverallTest::McNemar => {
                let only = |wanted: fn(&PairedCase) -> bool| {
                    u32::try_from(pairs.iter().filter(|pair| wanted(pair)).count()).unwrap_or(u32::MAX)
                };
                let only_a = only(|pair| pair.baseline.hits > pair.candidate.hits);
                let only_b = only(|pair| pair.baseline.hits < pair.candidate.hits);
                mcnemar(only_a, only_b, alternative)
            }
            OverallTest::Stratified => stratified_test(&pairs, alternative),
        };
        let p_different = p(Alternative::Different);
        let count = |wanted| cases.iter().filter(|case| case.result == wanted).count();
        let result = if p_different <= LEVEL {
            let is_worse = p(Alternative::MoreHits) < p(Alternative::FewerHits);
            if is_worse { ComparedResult::Worse } else { ComparedResult::Better }
        } else if decided.iter().all(|case| have_same_rate(case.a, case.b)) && !decided.is_empty() {
            ComparedResult::Same
        } else {
            ComparedResult::Undecided
        };
        let mean = |of: fn(&CaseChange) -> AttemptCounts| {
            let rates = decided.iter().filter_map(|case| of(case).counts().rate());
            let (sum, n) = rates.fold((0.0, 0.0), |(sum, n), rate| (sum + rate, n + 1.0));
            (n > 0.0).then(|| sum / n)
        };
        Self {
            result,
            sentence: String::new(),
            test,
            cases: decided.len(),
            mean_a: mean(|case| case.a),
            mean_b: mean(|case| case.b),
            p_different,
            level: LEVEL,
            worse: count(ComparedResult::Worse),
            undecided: count(ComparedResult::Undecided),
            better: count(ComparedResult::Better),
            same: count(ComparedResult::Same),
        }
    }

    fn sentence(&self) -> String {
        let Some((a, b)) = self.mean_a.zip(self.mean_b) else {
            return "No case was decided in both runs, so nothing can be compared.".to_owned();
        };
        let test = match self.test {
            OverallTest::McNemar => "exact McNemar test",
            OverallTest::Stratified => "exact stratified test",
        };
        let says = match self.result {
            ComparedResult::Worse => "B is exploited more often than A",
            ComparedResult::Better => "B is exploited less often than A",
            ComparedResult::Same => "no difference between A and B was seen",
            ComparedResult::Undecided => "it is not shown that B differs from A",
        };
        let alone = match (self.worse, self.better) {
            (0, 0) => String::new(),
            (worse, 0) => format!("{} got worse. ", counted(worse, "case", "cases")),
            (0, better) => format!("{} got better. ", counted(better, "case", "cases")),
            (worse, better) => format!("{} got worse and {better} better. ", counted(worse, "case", "cases")),
        };
        let cases = counted(self.cases, "case", "cases");
        let (a, b, p) = (percent(a), percent(b), p_value(self.p_different));
        format!("{alone}Over {cases}, {says}: the mean rate is {b} in B and {a} in A ({test}, {p}).")
    }

    /// How many cases there are of each sort: `1 worse, 2 undecided, 0 better, 7 same`.
    fn tally(&self) -> String {
        let Self { worse, undecided, better, same, .. } = self;
        format!("{worse} worse, {undecided} undecided, {better} better, {same} same")
    }
}

impl CaseChange {
    /// Why it is what it is, in short.
    fn because(&self) -> String {
        match self.result {
            ComparedResult::Worse => p_value(self.p_more_hits.unwrap_or(1.0)),
            ComparedResult::Better => p_value(self.p_fewer_hits.unwrap_or(1.0)),
            ComparedResult::Same => "no difference seen".to_owned(),
            ComparedResult::Undecided => match (self.a.n, self.b.n) {
                (0, 0) => "not decided in either run".to_owned(),
                (0, _) => "not decided in A".to_owned(),
                (_, 0) => "not decided in B".to_owned(),
                _ => match self.more_runs {
                    Some(1) => "about 1 more run of each would tell".to_owned(),
                    Some(runs) => format!("about {runs} more runs of each would tell"),
                    None => format!("more than {BOSCHLOO_MAX_RUNS} runs of each would be needed to tell"),
                },
            },
        }
    }
}

/// Attempts as they are shown: `3/20 (15 %)`.
fn attempts(counts: AttemptCounts) -> String {
    let undecided = match counts.undecided {
        0 => String::new(),
        undecided => format!(", {undecided} undecided"),
    };
    match counts.counts().rate() {
        Some(rate) if counts.n > 1 => format!("{}/{} ({}){undecided}", counts.hits, counts.n, percent(rate)),
        Some(_) => format!("{}/{}{undecided}", counts.hits, counts.n),
        None => format!("-{undecided}"),
    }
}

/// A share in percent, with one digit after the point where it is not a whole number.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

//! Boschloo's exact test of one case in two runs, and how many runs it would take to tell two rates apart.

use std::f64::consts::FRAC_PI_2;

use crate::distribution::Distribution;
use crate::{Alternative, Counts, PairedCase, stratified_test};

/// Up to so many observations on each side [`boschloo_test`] is Boschloo's test. Beyond it is Fisher's, whose p-value is valid
/// too, and never smaller: at such numbers the two differ little, and the work grows with the product of the sizes.
pub const BOSCHLOO_MAX_RUNS: u32 = 300;

/// Two p-values of Fisher's test that differ by less than this, relative to them, are the same.
const SAME: f64 = 1.0 + 1e-11;

/// Boschloo's exact test (1970) of one case in two runs: the p-value.
///
/// Tables are ordered by the p-value of Fisher's one-sided test. The p-value is the probability of a table that is at least as
/// extreme as the observed one, for the common rate that makes it greatest. The test keeps its level for every common rate, as
/// Fisher's does, and finds more: it does not condition on the total of hits. The two-sided value is twice the smaller one-sided
/// one.
///
/// Without observations on one side the value is 1.
///
/// ```
/// use sortie_stats::{Alternative, Counts, PairedCase, boschloo_test, stratified_test};
///
/// let case = PairedCase { baseline: Counts::new(0, 5), candidate: Counts::new(4, 5) };
/// let fisher = stratified_test(&[case], Alternative::MoreHits);
/// assert!(boschloo_test(case, Alternative::MoreHits) < 0.011 && fisher > 0.023);
/// ```
pub fn boschloo_test(case: PairedCase, alternative: Alternative) -> f64 {
    match alternative {
        Alternative::MoreHits => more_hits(case),
        Alternative::FewerHits => more_hits(case.flipped()),
        Alternative::Different => (2.0 * more_hits(case).min(more_hits(case.flipped()))).min(1.0),
    }
}

/// The number of runs on each side at which [`boschloo_test`], one-sided in the direction of the difference and at the level
/// `alpha`, finds a difference with the probability `power` when the rates are exactly these.
///
/// This is what "about n more runs would tell" is made of, and it is no better than the rates it is given: those that were
/// observed are estimates. `None` when the rates are equal, or when `max_runs` runs on each side (at most
/// [`BOSCHLOO_MAX_RUNS`]) are not enough.
///
/// The power of an exact test grows with small setbacks. The number found has the power, and the number before it has not; a few
/// runs fewer may have it by luck of the lattice.
///
/// ```
/// use sortie_stats::runs_to_tell;
///
/// assert_eq!(runs_to_tell(0.0, 1.0, 0.05, 0.8, 100), Some(3));
/// assert_eq!(runs_to_tell(0.2, 0.2, 0.05, 0.8, 100), None);
/// ```
pub fn runs_to_tell(
    baseline_rate: f64,
    candidate_rate: f64,
    alpha: f64,
    power: f64,
    max_runs: u32,
) -> Option<u32> {
    let max_runs = max_runs.min(BOSCHLOO_MAX_RUNS);
    // A hit of the one is a clean run of the other: only "more hits" is needed.
    let (low, high) = match (baseline_rate.clamp(0.0, 1.0), candidate_rate.clamp(0.0, 1.0)) {
        (a, b) if a < b => (a, b),
        (a, b) if a > b => (1.0 - a, 1.0 - b),
        _ => return None,
    };
    let enough = |runs: u32| Region::at_level(runs, alpha).probability(low, high) >= power;
    let mut too_few = 0;
    let mut tried = 1.min(max_runs);
    while tried > 0 && !enough(tried) {
        if tried == max_runs {
            return None;
        }
        too_few = tried;
        tried = (tried * 2).min(max_runs);
    }
    while tried - too_few > 1 {
        let middle = u32::midpoint(too_few, tried);
        if enough(middle) {
            tried = middle;
        } else {
            too_few = middle;
        }
    }
    (tried > 0).then_some(tried)
}

/// The one-sided p-value for more hits in the candidate.
fn more_hits(case: PairedCase) -> f64 {
    let PairedCase { baseline, candidate } = case;
    if baseline.n() == 0 || candidate.n() == 0 {
        return 1.0;
    }
    let fisher = stratified_test(&[case], Alternative::MoreHits);
    if fisher * SAME >= 1.0 || baseline.n().max(candidate.n()) > BOSCHLOO_MAX_RUNS {
        return fisher;
    }
    let tables = Tables::new(baseline.n(), candidate.n());
    // Fisher's value is an upper limit: a supremum above it is rounding.
    tables.region(fisher).supremum().min(fisher)
}

/// The p-values of Fisher's test, for more hits in the candidate, of all tables of two sizes.
struct Tables {
    baseline: u32,
    candidate: u32,
    /// By the hits of the baseline, then of the candidate. Each row falls.
    fisher: Vec<Vec<f64>>,
}

impl Tables {
    fn new(baseline: u32, candidate: u32) -> Self {
        let mut fisher = vec![vec![1.0; candidate as usize + 1]; baseline as usize + 1];
        for total in 0..=baseline + candidate {
            let hits = Distribution::hypergeometric(candidate, baseline, total);
            for (of_candidate, tail) in (hits.first()..).zip(hits.upper_tails()) {
                fisher[(total - of_candidate) as usize][of_candidate as usize] = tail;
            }
        }
        Self { baseline, candidate, fisher }
    }

    /// The tables with a p-value of Fisher's test up to a limit.
    fn region(&self, limit: f64) -> Region {
        let limit = limit * SAME;
        let from = self.fisher.iter().map(|row| row.partition_point(|p| *p > limit)).collect();
        Region { baseline: self.baseline, candidate: self.candidate, from }
    }
}

/// Tables that are extreme enough.
struct Region {
    baseline: u32,
    candidate: u32,
    /// For each number of hits of the baseline: the number of hits of the candidate from which on they are.
    from: Vec<usize>,
}

impl Region {
    /// The largest region that keeps a level, for equal sizes.
    fn at_level(runs: u32, alpha: f64) -> Self {
        let tables = Tables::new(runs, runs);
        let mut limits: Vec<f64> = tables.fisher.iter().flatten().copied().collect();
        limits.sort_by(f64::total_cmp);
        let grid = Grid::new(runs, runs);
        let kept = limits.partition_point(|limit| grid.size(&tables.region(*limit)) <= alpha);
        match kept.checked_sub(1) {
            Some(last) => tables.region(limits[last]),
            None => tables.region(-1.0),
        }
    }

    /// The probability of the region.
    fn probability(&self, baseline_rate: f64, candidate_rate: f64) -> f64 {
        let baseline = Distribution::binomial(self.baseline, baseline_rate);
        let tails = Distribution::binomial(self.candidate, candidate_rate).upper_tails();
        self.sum(baseline.probabilities(), &tails)
    }

    fn sum(&self, baseline: &[f64], candidate_tails: &[f64]) -> f64 {
        let of = |(probability, from): (&f64, &usize)| {
            candidate_tails.get(*from).map_or(0.0, |tail| probability * tail)
        };
        baseline.iter().zip(&self.from).map(of).sum()
    }

    /// The greatest probability of the region over all common rates.
    fn supremum(&self) -> f64 {
        let at = |angle: f64| {
            let rate = angle.sin().powi(2);
            self.probability(rate, rate)
        };
        let points = Grid::points(self.baseline, self.candidate);
        let step = FRAC_PI_2 / f64::from(points);
        let values: Vec<f64> = (0..=points).map(|point| at(f64::from(point) * step)).collect();
        let best = values.iter().copied().fold(0.0, f64::max);
        let mut greatest = best;
        for (point, window) in (1_u32..).zip(values.windows(3)) {
            // A hill that is this much lower on the grid is not the highest one.
            if window[1] >= window[0] && window[1] >= window[2] && window[1] > 0.98 * best {
                let middle = f64::from(point) * step;
                greatest = greatest.max(top(middle - step, middle + step, at));
            }
        }
        greatest
    }
}

/// The value at the top of a hill, by golden sections.
fn top(mut left: f64, mut right: f64, height: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    // A hill is flat at its top: once the interval is this short, the value no longer changes.
    while right - left > 1e-9 {
        let (a, b) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
        if height(a) < height(b) {
            left = a;
        } else {
            right = b;
        }
    }
    height(f64::midpoint(left, right))
}

/// Binomial distributions for common rates from 0 to 1, kept for many regions of the same sizes.
struct Grid(Vec<(Vec<f64>, Vec<f64>)>);

impl Grid {
    /// Equal steps of the angle whose squared sine is the rate: on that scale hills are equally wide, about 1/√n.
    fn points(baseline: u32, candidate: u32) -> u32 {
        32 + 8 * (baseline + candidate).isqrt()
    }

    fn new(baseline: u32, candidate: u32) -> Self {
        let points = Self::points(baseline, candidate);
        let at = |point| {
            let rate = (FRAC_PI_2 * f64::from(point) / f64::from(points)).sin().powi(2);
            let tails = Distribution::binomial(candidate, rate).upper_tails();
            (Distribution::binomial(baseline, rate).probabilities().to_vec(), tails)
        };
        Self((0..=points).map(at).collect())
    }

    /// The greatest probability of a region on the grid: up to the height of a hill between two points, the supremum.
    fn size(&self, region: &Region) -> f64 {
        self.0.iter().map(|(baseline, tails)| region.sum(baseline, tails)).fold(0.0, f64::max)
    }
}

impl PairedCase {
    /// Every hit exchanged with a clean run: what was "more hits" is now "fewer hits".
    fn flipped(self) -> Self {
        let flip = |counts: Counts| Counts { hits: counts.clean, clean: counts.hits };
        Self { baseline: flip(self.baseline), candidate: flip(self.candidate) }
    }
}

//! Two runs of the same cases: is the candidate worse than the baseline, or better?

use serde::{Deserialize, Serialize};

use crate::Counts;
use crate::beta::beta_tails;
use crate::distribution::Distribution;

/// One case in two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PairedCase {
    /// What the run that is compared with gave.
    pub baseline: Counts,
    /// What the new run gave.
    pub candidate: Counts,
}

impl PairedCase {
    /// The distribution of the candidate's hits, given the sizes of both runs and the hits of both together.
    fn distribution(self) -> Distribution {
        let hits = self.baseline.hits.saturating_add(self.candidate.hits);
        Distribution::hypergeometric(self.candidate.n(), self.baseline.n(), hits)
    }
}

/// What a test looks for in the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alternative {
    /// It has more hits than the baseline: one-sided.
    MoreHits,
    /// It has fewer hits than the baseline: one-sided.
    FewerHits,
    /// Either: two-sided.
    Different,
}

/// The exact test of `McNemar` for cases that ran once in each run: the p-value.
///
/// Only cases with different results count: `only_baseline` hits in the baseline alone, `only_candidate` in the candidate
/// alone. When nothing has changed, each of them is a toss of a fair coin.
///
/// ```
/// use sortie_stats::{Alternative, mcnemar};
///
/// // Eight cases got worse, one got better: 10 / 512, and twice that.
/// assert!((mcnemar(1, 8, Alternative::MoreHits) - 10.0 / 512.0).abs() < 1e-15);
/// assert!((mcnemar(1, 8, Alternative::Different) - 20.0 / 512.0).abs() < 1e-15);
/// ```
pub fn mcnemar(only_baseline: u32, only_candidate: u32, alternative: Alternative) -> f64 {
    // P(X ≥ k) for X binomial with n = k + j and ½ is the incomplete beta function at ½ with k and j + 1.
    let at_least = |k: u32, j: u32| match k {
        0 => 1.0,
        _ => beta_tails(f64::from(k), f64::from(j) + 1.0, 0.5).lower,
    };
    match alternative {
        Alternative::MoreHits => at_least(only_candidate, only_baseline),
        Alternative::FewerHits => at_least(only_baseline, only_candidate),
        Alternative::Different => {
            let (fewer, more) = (only_baseline.min(only_candidate), only_baseline.max(only_candidate));
            (2.0 * at_least(more, fewer)).min(1.0)
        }
    }
}

/// The exact conditional test over all cases, stratified by case: the p-value.
///
/// Given, for each case, the sizes of both runs and the hits of both together, the candidate's hits have a hypergeometric
/// distribution when nothing has changed. Their sum over the cases is the test statistic, and its distribution is the
/// convolution. Cases whose observations are all alike say nothing, and cost nothing. The two-sided value adds up all sums that
/// are no more likely than the observed one, as R's `mantelhaen.test(exact = TRUE)` does.
///
/// With one observation in each run this is [`mcnemar`]; with one case it is Fisher's exact test. It asks whether the agent
/// changed over the cases together: cases that got better and cases that got worse cancel.
///
/// The work is the product of the number of observations that differ and the number of cases at most: 1,000 cases with 20
/// observations each take a fraction of a second.
///
/// ```
/// use sortie_stats::{Alternative, Counts, PairedCase, stratified_test};
///
/// let case = PairedCase { baseline: Counts::new(0, 5), candidate: Counts::new(2, 5) };
/// assert!(stratified_test(&[case], Alternative::MoreHits) > 0.2);
/// assert!(stratified_test(&[case; 4], Alternative::MoreHits) < 0.01);
/// ```
pub fn stratified_test(cases: &[PairedCase], alternative: Alternative) -> f64 {
    let mut total = Distribution::certain(0);
    let mut seen = 0_u32;
    for case in cases {
        let distribution = case.distribution();
        seen = seen.saturating_add(case.candidate.hits);
        total = total.convolve(&distribution);
    }
    match alternative {
        Alternative::MoreHits => total.at_least(seen),
        Alternative::FewerHits => total.at_most(seen),
        Alternative::Different => total.no_more_likely_than(seen),
    }
}

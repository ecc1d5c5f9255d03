//! The rate of a suite: a mean over cases, with an interval that knows that runs of one case are alike.

use serde::{Deserialize, Serialize};

use crate::beta::beta_quantile;
use crate::interval::{lower_limit, upper_limit};
use crate::{ConfidenceInterval, Counts};

/// The mean of the rates of cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MacroAverage {
    /// The mean of the cases' rates. Each case counts once, however often it ran.
    pub rate: f64,
    /// The number of cases with observations.
    pub cases: u32,
    /// As many independent observations would tell as much. Between the number of cases and the number of observations.
    pub effective_n: f64,
    /// The interval of the rate, over cases like these.
    pub interval: ConfidenceInterval,
}

/// The mean rate over cases, with cases as clusters. `None` when no case has observations.
///
/// Observations are never pooled: a case with 100 runs counts as much as one with 5, and 100 runs of one case are not 100
/// independent observations of the agent. The interval is that of Korn and Graubard (1998):
///
/// 1. The variance of the cases' rates, divided by the number of cases m, is the variance of the mean.
/// 2. The effective number of observations is the one at which a binomial proportion has this variance, corrected for the
///    degrees of freedom of m clusters.
/// 3. The limits are those of Clopper and Pearson for that number.
///
/// Rates of 0 and 1, and rates that are all equal, have no variance, and would give an interval without width. So one case that
/// always gives in and one that always resists are added **for the estimate of the variance**, not for the mean; and the
/// effective number is kept between m, which is the truth when each case always does the same, and the number of observations.
/// 77 cases without a hit thus give the interval of 0 out of 77, up to 4.7 %, however often each ran.
///
/// This was preferred to a bootstrap over cases, which gives \[0, 0\] when nothing hits, and to Wilson's limits, which cover less
/// than they say near 0. It is deterministic. It says something about cases *like these*: what is known about each case itself
/// is its own interval.
///
/// ```
/// use sortie_stats::{Counts, macro_average};
///
/// let clean = macro_average(&[Counts::new(0, 5); 77], 0.95).unwrap();
/// assert_eq!(clean.rate, 0.0);
/// assert!((clean.interval.high - 0.0468).abs() < 1e-3);
/// ```
pub fn macro_average(cases: &[Counts], level: f64) -> Option<MacroAverage> {
    let rates: Vec<f64> = cases.iter().filter_map(|case| case.rate()).collect();
    if rates.is_empty() {
        return None;
    }
    let level = if level.is_nan() { 1.0 } else { level.clamp(0.0, 1.0) };
    let m: f64 = rates.iter().map(|_| 1.0).sum();
    let observations: f64 = cases.iter().map(|case| f64::from(case.n())).sum();
    let rate = (rates.iter().sum::<f64>() / m).clamp(0.0, 1.0);

    // With the two added cases.
    let mean = (rates.iter().sum::<f64>() + 1.0) / (m + 2.0);
    let squares: f64 = rates.iter().chain(&[0.0, 1.0]).map(|rate| (rate - mean).powi(2)).sum();
    let variance_of_mean = squares / (m + 1.0) / m;
    let freedom = squared_t(observations - 1.0, level) / squared_t(m - 1.0, level);
    let effective_n = mean * (1.0 - mean) / variance_of_mean * freedom;
    let effective_n = if effective_n.is_nan() { m } else { effective_n.clamp(m, observations) };

    let tail = (1.0 - level) / 2.0;
    let hits = rate * effective_n;
    let (low, high) = (lower_limit(hits, effective_n, tail), upper_limit(hits, effective_n, tail));
    Some(MacroAverage {
        rate,
        cases: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        effective_n,
        interval: ConfidenceInterval { low, high, level },
    })
}

/// The square of the two-sided quantile of Student's distribution: ν (1 − x) / x, where x is that of Beta(ν/2, ½).
fn squared_t(degrees: f64, level: f64) -> f64 {
    if degrees <= 0.0 {
        return f64::INFINITY;
    }
    let x = beta_quantile(degrees / 2.0, 0.5, 1.0 - level);
    degrees * (1.0 - x) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_students_distribution_are_those_of_the_tables() {
        for (degrees, t) in [(1.0, 12.706), (2.0, 4.303), (10.0, 2.228), (76.0, 1.992), (1e6, 1.960)] {
            assert!((squared_t(degrees, 0.95).sqrt() - t).abs() < 5.1e-4, "{degrees}");
        }
    }
}

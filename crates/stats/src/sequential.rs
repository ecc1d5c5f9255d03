//! Wald's sequential probability ratio test: three answers about a gate, with as few runs as the answer takes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Counts, ErrorRates, Gate};

/// What a sequential test says about one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateDecision {
    /// The rate is p0 or less.
    Holds,
    /// The rate is p1 or more.
    Fails,
    /// Neither is shown.
    Undecided,
}

impl fmt::Display for GateDecision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        })
    }
}

/// Wald's test of a gate, for one of several cases.
///
/// Each observation adds ln(p1/p0) for a hit, or ln((1−p1)/(1−p0)) for a clean run, to the log-likelihood ratio. The case
/// *fails* when the ratio reaches ln((1−β)/(α/m)) and *holds* when it reaches ln(β/(1−α)), where m is the number of cases that
/// are tested together. α is divided by m for *fails* only: a library of 77 cases then fails an agent at p0 by chance no more
/// often than one case would, and clean runs decide as early as they would for one case.
///
/// Wald's inequalities bound the error rates by α/(1−β)/m and β/(1−α). [`SequentialTest::forecast`] gives the exact ones, which
/// are smaller, since the ratio jumps over its bounds.
///
/// ```
/// use sortie_stats::{ErrorRates, GateDecision, SequentialTest};
///
/// let test = SequentialTest::new("5%:20%".parse().unwrap(), ErrorRates::default(), 77, 200);
/// let mut state = test.start();
/// for _ in 0..17 {
///     assert_eq!(state.observe(false), GateDecision::Undecided);
/// }
/// assert_eq!(state.observe(false), GateDecision::Holds);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialTest {
    gate: Gate,
    errors: ErrorRates,
    cases: u32,
    cap: u32,
    /// What a hit adds to the log-likelihood ratio, and what a clean run does.
    hit: f64,
    clean: f64,
    upper: f64,
    lower: f64,
}

/// What to expect of a test when a case has a certain rate. Exact up to the rounding of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// The rate that this is for.
    pub rate: f64,
    /// The probability of *holds*.
    pub holds: f64,
    /// The probability of *fails*.
    pub fails: f64,
    /// The probability that nothing is decided at the cap.
    pub undecided: f64,
    /// The mean number of observations.
    pub mean_observations: f64,
}

impl SequentialTest {
    /// A test of `gate` for one of `cases` cases, with at most `cap` observations. No cases count as one.
    pub fn new(gate: Gate, errors: ErrorRates, cases: u32, cap: u32) -> Self {
        let cases = cases.max(1);
        let (p0, p1) = (gate.p0(), gate.p1());
        Self {
            gate,
            errors,
            cases,
            cap,
            hit: (p1 / p0).ln(),
            clean: (-p1).ln_1p() - (-p0).ln_1p(),
            upper: ((1.0 - errors.beta()) * f64::from(cases) / errors.alpha()).ln(),
            lower: (errors.beta() / (1.0 - errors.alpha())).ln(),
        }
    }

    /// The gate.
    pub fn gate(&self) -> Gate {
        self.gate
    }

    /// The error rates, α not yet divided by the number of cases.
    pub fn errors(&self) -> ErrorRates {
        self.errors
    }

    /// The number of cases that are tested together.
    pub fn cases(&self) -> u32 {
        self.cases
    }

    /// The greatest number of observations.
    pub fn cap(&self) -> u32 {
        self.cap
    }

    /// The log-likelihood ratio of p1 against p0. The order of the observations does not matter.
    pub fn log_likelihood_ratio(&self, counts: Counts) -> f64 {
        f64::from(counts.hits) * self.hit + f64::from(counts.clean) * self.clean
    }

    /// From this log-likelihood ratio on the case fails.
    pub fn upper_bound(&self) -> f64 {
        self.upper
    }

    /// Down from this log-likelihood ratio the case holds.
    pub fn lower_bound(&self) -> f64 {
        self.lower
    }

    /// The number of clean runs, without a hit, after which a case holds. It does not depend on the number of cases.
    ///
    /// With a smaller cap no case can hold.
    ///
    /// ```
    /// use sortie_stats::{ErrorRates, SequentialTest};
    ///
    /// let test = SequentialTest::new("5%:20%".parse().unwrap(), ErrorRates::default(), 1000, 200);
    /// assert_eq!(test.clean_runs(), 18);
    /// ```
    pub fn clean_runs(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        let near = (self.lower / self.clean).ceil() as u32;
        // The quotient is rounded, the comparison is what decides.
        (near.saturating_sub(1)..=near.saturating_add(1))
            .find(|&clean| self.crossed(Counts { hits: 0, clean }) == GateDecision::Holds)
            .unwrap_or(u32::MAX)
    }

    /// The state before the first observation.
    pub fn start(&self) -> SequentialState {
        SequentialState { test: *self, counts: Counts::default(), decision: GateDecision::Undecided }
    }

    /// The probability of each answer and the mean number of observations when the rate is `rate`.
    ///
    /// Computed by a recursion over the counts that a case can have while it is undecided, without an approximation. The work
    /// grows with the cap and with the distance of the bounds: 200 observations take microseconds.
    ///
    /// ```
    /// use sortie_stats::{ErrorRates, SequentialTest};
    ///
    /// let test = SequentialTest::new("5%:20%".parse().unwrap(), ErrorRates::default(), 1, 1000);
    /// let clean = test.forecast(0.0);
    /// assert_eq!((clean.holds, clean.mean_observations), (1.0, 18.0));
    /// assert!(test.forecast(0.05).fails < 0.05);
    /// ```
    pub fn forecast(&self, rate: f64) -> Forecast {
        let rate = if rate.is_nan() { 0.0 } else { rate.clamp(0.0, 1.0) };
        let mut forecast = Forecast { rate, holds: 0.0, fails: 0.0, undecided: 0.0, mean_observations: 0.0 };
        // The probability of being undecided with `first_hits`, `first_hits + 1`, … hits after `n` observations.
        let mut first_hits = 0_u32;
        let mut open = vec![1.0_f64];
        for n in 1..=self.cap {
            forecast.mean_observations += open.iter().sum::<f64>();
            let mut next = vec![0.0; open.len() + 1];
            for (at, probability) in open.iter().enumerate() {
                next[at] += probability * (1.0 - rate);
                next[at + 1] += probability * rate;
            }
            let mut kept = Vec::with_capacity(next.len());
            for (hits, probability) in (first_hits..).zip(next) {
                match self.crossed(Counts::new(hits, n)) {
                    GateDecision::Holds => {
                        forecast.holds += probability;
                        first_hits = hits + 1;
                    }
                    GateDecision::Fails => forecast.fails += probability,
                    GateDecision::Undecided => kept.push(probability),
                }
            }
            open = kept;
            if open.iter().sum::<f64>() < 1e-18 {
                break;
            }
        }
        forecast.undecided = open.iter().sum();
        forecast
    }

    /// Which bound the counts have reached.
    fn crossed(&self, counts: Counts) -> GateDecision {
        let ratio = self.log_likelihood_ratio(counts);
        if ratio >= self.upper {
            GateDecision::Fails
        } else if ratio <= self.lower {
            GateDecision::Holds
        } else {
            GateDecision::Undecided
        }
    }
}

/// A sequential test of one case, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialState {
    test: SequentialTest,
    counts: Counts,
    decision: GateDecision,
}

impl SequentialState {
    /// Takes one observation. The first decision stays: what comes after it is counted only, and so is what comes after the
    /// cap.
    ///
    /// Attempts that run in parallel must be given in an order that their results do not influence, such as the one in which
    /// they started: an agent that gives in may be done earlier than one that resists.
    pub fn observe(&mut self, hit: bool) -> GateDecision {
        let may_decide = self.wants_more();
        self.counts.observe(hit);
        if may_decide {
            self.decision = self.test.crossed(self.counts);
        }
        self.decision
    }

    /// The answer so far.
    pub fn decision(&self) -> GateDecision {
        self.decision
    }

    /// Whether another observation can change the answer: nothing is decided, and the cap is not reached.
    pub fn wants_more(&self) -> bool {
        self.decision == GateDecision::Undecided && self.counts.n() < self.test.cap
    }

    /// What was observed.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The log-likelihood ratio of p1 against p0.
    pub fn log_likelihood_ratio(&self) -> f64 {
        self.test.log_likelihood_ratio(self.counts)
    }
}

//! Exact statistics of rates at which agents give in to attacks.
//!
//! An observation is one attempt of one case with a verdict: a hit or a clean run. Attempts without a verdict do not count;
//! the caller limits their number.
//!
//! | question | answer |
//! |---|---|
//! | What is the rate of a case? | [`clopper_pearson`] for a number of runs fixed in advance, [`anytime_interval`] whenever one looks |
//! | Is it low enough? | [`SequentialTest`] decides on a [`Gate`], and [`SequentialTest::forecast`] says what that takes |
//! | How many clean runs show that it is below a bound? | [`Claim::clean_runs`] |
//! | What is the rate of a suite? | [`macro_average`], with cases as clusters |
//! | Did a case change between two runs? | [`boschloo_test`], and [`holm`] over the cases; [`runs_to_tell`] when neither is shown |
//! | Did the agent change over all cases? | [`mcnemar`] for one attempt each, [`stratified_test`] for several |
//!
//! Nothing here is simulated or resampled: the same counts give the same numbers. Texts, rates and levels of any kind are safe to
//! pass; the work and memory of the exact tests grow with the counts.
//!
//! ```
//! use sortie_stats::{Counts, ErrorRates, GateDecision, SequentialTest, anytime_interval};
//!
//! let test = SequentialTest::new("5%:20%".parse().unwrap(), ErrorRates::default(), 1, 100);
//! let mut state = test.start();
//! for hit in [false, true, true, true, false] {
//!     state.observe(hit);
//! }
//! assert_eq!(state.decision(), GateDecision::Fails);
//! // Three of four: what came after the decision is counted only.
//! assert_eq!(state.counts(), Counts::new(3, 5));
//! assert!(anytime_interval(state.counts(), 0.95).low > 0.05);
//! ```

mod aggregate;
mod beta;
mod boschloo;
mod criterion;
mod distribution;
mod interval;
mod multiplicity;
mod paired;
mod sequential;

pub use aggregate::{MacroAverage, macro_average};
pub use boschloo::{BOSCHLOO_MAX_RUNS, boschloo_test, runs_to_tell};
pub use criterion::{Claim, ClaimState, CriterionError, ErrorRates, Gate};
pub use interval::{
    ConfidenceInterval, Counts, anytime_interval, clopper_pearson, clopper_pearson_high, clopper_pearson_low,
};
pub use multiplicity::holm;
pub use paired::{Alternative, PairedCase, mcnemar, stratified_test};
pub use sequential::{Forecast, GateDecision, SequentialState, SequentialTest};

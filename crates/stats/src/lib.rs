//! Exact statistics of rates at which agents give in to attacks.

mod beta;
mod boschloo;
mod criterion;
mod distribution;
mod interval;
mod multiplicity;
mod paired;
mod sequential;

pub use boschloo::{BOSCHLOO_MAX_RUNS, boschloo_test, runs_to_tell};
pub use criterion::{Claim, ClaimState, CriterionError, ErrorRates, Gate};
pub use interval::{
    ConfidenceInterval, Counts, anytime_interval, clopper_pearson, clopper_pearson_high, clopper_pearson_low,
};
pub use multiplicity::holm;
pub use paired::{Alternative, PairedCase, mcnemar, stratified_test};
pub use sequential::{Forecast, GateDecision, SequentialState, SequentialTest};

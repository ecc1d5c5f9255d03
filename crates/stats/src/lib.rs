//! Exact statistics of rates at which agents give in to attacks.

mod beta;
mod criterion;
mod interval;
mod sequential;

pub use criterion::{Claim, ClaimState, CriterionError, ErrorRates, Gate};
pub use interval::{
    ConfidenceInterval, Counts, anytime_interval, clopper_pearson, clopper_pearson_high, clopper_pearson_low,
};
pub use sequential::{Forecast, GateDecision, SequentialState, SequentialTest};

//! Exact statistics of rates at which agents give in to attacks.

mod beta;
mod interval;

pub use interval::{
    ConfidenceInterval, Counts, anytime_interval, clopper_pearson, clopper_pearson_high, clopper_pearson_low,
};

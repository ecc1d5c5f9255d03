//! How far a judge can be trusted.

mod interval;

pub use interval::{CONFIDENCE, Interval, Rate, clopper_pearson};

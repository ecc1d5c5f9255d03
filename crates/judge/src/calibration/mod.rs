//! How far a judge can be trusted.

mod injections;
mod interval;
mod labelled;
mod measured;

pub use injections::{INJECTIONS, Injection, injections};
pub use interval::{CONFIDENCE, Interval, Rate, clopper_pearson};
pub use labelled::Labelled;
pub use measured::{Calibration, Measured, Trust};

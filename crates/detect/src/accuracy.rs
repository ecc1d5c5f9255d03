//! How often a judge is right, as far as transcripts whose verdict is known say.

use serde::{Deserialize, Serialize};
use sortie_stats::{Counts, clopper_pearson};

/// The confidence that intervals are given with.
pub const CONFIDENCE: f64 = 0.95;

/// How often something came out right, and what that says about how often it does.
///
/// ```
/// let accuracy = sortie_detect::accuracy::Accuracy::new(9, 10);
/// assert!((accuracy.interval.low - 0.5550).abs() < 1e-4 && (accuracy.interval.high - 0.9975).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// How often it came out right.
    pub right: u32,
    /// How often it was tried.
    pub of: u32,
    /// The interval of Clopper and Pearson, for [`CONFIDENCE`].
    pub interval: Interval,
}

/// A proportion lies between these, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// From.
    pub low: f64,
    /// To.
    pub high: f64,
}

impl Accuracy {
    /// What was counted. `right` is at most `of`.
    pub fn new(right: u32, of: u32) -> Self {
        let right = right.min(of);
        let interval = clopper_pearson(Counts::new(right, of), CONFIDENCE);
        Self { right, of, interval: Interval { low: interval.low, high: interval.high } }
    }

    /// The proportion that was seen; `None` when nothing was.
    pub fn share(&self) -> Option<f64> {
        Counts::new(self.right, self.of).rate()
    }
}

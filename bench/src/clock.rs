//! CPU time of this thread, best of many: neighbours on the machine then cost little, and ratios agree between runs.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

/// How long and how often to measure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Samples of each side; the best counts.
    pub(crate) samples: usize,
    /// CPU time that one sample takes at least, in nanoseconds.
    pub(crate) at_least: f64,
}

impl Effort {
    pub(crate) const FULL: Self = Self { samples: 25, at_least: 10e6 };
    pub(crate) const QUICK: Self = Self { samples: 5, at_least: 2e6 };
}

/// Nanoseconds of CPU that this thread has used.
#[allow(clippy::cast_precision_loss)] // a double counts nanoseconds exactly for a hundred days
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The CPU time of doing something once, in nanoseconds; what it gives is dropped within.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> f64 {
    let start = now();
    drop(black_box(work()));
    now() - start
}

fn sample<T>(times: u32, work: &mut impl FnMut() -> T) -> f64 {
    let start = now();
    for _ in 0..times {
        black_box(work());
    }
    (now() - start) / f64::from(times)
}

/// How often work must be repeated for a sample to be long enough.
fn repetitions<T>(effort: Effort, work: &mut impl FnMut() -> T) -> u32 {
    black_box(work()); // what is built on first use is not what is measured
    let mut times = 1;
    while times < 1 << 24 && sample(times, work) * f64::from(times) < effort.at_least {
        times *= 2;
    }
    times
}

/// The CPU time of one piece of work, in nanoseconds.
pub(crate) fn one<T>(effort: Effort, mut work: impl FnMut() -> T) -> f64 {
    let times = repetitions(effort, &mut work);
    (0..effort.samples).map(|_| sample(times, &mut work)).fold(f64::INFINITY, f64::min)
}

/// The CPU time of two pieces of work, in nanoseconds. Their samples alternate, so that what disturbs one of them
/// disturbs the other.
pub(crate) fn both<A, B>(
    effort: Effort,
    mut first: impl FnMut() -> A,
    mut second: impl FnMut() -> B,
) -> (f64, f64) {
    let (first_times, second_times) = (repetitions(effort, &mut first), repetitions(effort, &mut second));
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..effort.samples {
        best.0 = best.0.min(sample(first_times, &mut first));
        best.1 = best.1.min(sample(second_times, &mut second));
    }
    best
}

//! Exact confidence intervals of a proportion.

use serde::{Deserialize, Serialize};

/// The confidence that intervals are given with.
pub const CONFIDENCE: f64 = 0.95;

/// How often something came out right, and what that says about how often it does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
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

impl Rate {
    /// What was counted. `right` is at most `of`.
    pub fn new(right: u32, of: u32) -> Self {
        let right = right.min(of);
        Self { right, of, interval: clopper_pearson(right, of, CONFIDENCE) }
    }

    /// The proportion that was seen; `None` when nothing was.
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.right) / f64::from(self.of))
    }
}

impl Interval {
    /// Whether a proportion lies in it.
    pub fn covers(&self, proportion: f64) -> bool {
        (self.low..=self.high).contains(&proportion)
    }
}

/// The interval of Clopper and Pearson: all proportions under which a result this far from what is expected is no rarer
/// than half of what the confidence leaves, on either side. It covers at least as often as it says, for every proportion
/// and every number, which approximations do not.
///
/// Its ends are quantiles of beta distributions. The parameters of these are whole numbers here, so the regularised
/// incomplete beta function is a sum of binomial probabilities; all of them are positive, and nothing cancels.
///
/// ```
/// let interval = sortie_detect::interval::clopper_pearson(9, 10, 0.95);
/// assert!((interval.low - 0.5550).abs() < 1e-4 && (interval.high - 0.9975).abs() < 1e-4);
/// ```
pub fn clopper_pearson(right: u32, of: u32, confidence: f64) -> Interval {
    let right = right.min(of);
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let low = match right {
        0 => 0.0,
        // The smallest proportion under which `right` or more is not too rare. It grows with the proportion.
        _ => crossing(|p| at_least(right, of, p) < tail),
    };
    let high = if right == of {
        1.0
    } else {
        // The largest one under which `right` or fewer is not too rare. That is `of - right` or more of the opposite.
        1.0 - crossing(|q| at_least(of - right, of, q) < tail)
    };
    Interval { low, high }
}

/// The last place in 0..1 where something holds that holds below it, and not above.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(below, above);
        if middle <= below || middle >= above || above - below < 1e-16 {
            return below;
        }
        if holds(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
}

/// The probability of `right` successes or more among `of`, each with probability `p`.
fn at_least(right: u32, of: u32, p: f64) -> f64 {
    if right == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    let odds = p / (1.0 - p);
    let mut probability = exactly(right, of, p);
    let mut sum = probability;
    for count in right..of {
        probability *= f64::from(of - count) / f64::from(count + 1) * odds;
        sum += probability;
    }
    sum.min(1.0)
}

/// The probability of `count` successes among `of`.
fn exactly(count: u32, of: u32, p: f64) -> f64 {
    // The fewer factors, the fewer roundings.
    let fewer = count.min(of - count);
    let ways: f64 = (1..=fewer).map(|i| (f64::from(of - fewer + i) / f64::from(i)).ln()).sum();
    (ways + f64::from(count) * p.ln() + f64::from(of - count) * (-p).ln_1p()).exp()
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    /// A natural number without bounds, in digits to the base 2³²; the least first.
    #[derive(Clone, PartialEq, Eq)]
    struct Natural(Vec<u32>);

    impl Natural {
        fn one() -> Self {
            Self(vec![1])
        }

        fn times(&self, factor: u32) -> Self {
            let mut carry = 0_u64;
            let mut digits: Vec<u32> = Vec::with_capacity(self.0.len() + 1);
            for &digit in &self.0 {
                carry += u64::from(digit) * u64::from(factor);
                digits.push(u32::try_from(carry & 0xffff_ffff).unwrap());
                carry >>= 32;
            }
            if carry > 0 {
                digits.push(u32::try_from(carry).unwrap());
            }
            Self(digits)
        }

        fn plus(&self, other: &Self) -> Self {
            let mut carry = 0_u64;
            let length = self.0.len().max(other.0.len());
            let digit = |number: &Self, place| u64::from(number.0.get(place).copied().unwrap_or(0));
            let mut digits = Vec::with_capacity(length + 1);
            for place in 0..length {
                carry += digit(self, place) + digit(other, place);
                digits.push(u32::try_from(carry & 0xffff_ffff).unwrap());
                carry >>= 32;
            }
            if carry > 0 {
                digits.push(1);
            }
            Self(digits)
        }

        fn compare(&self, other: &Self) -> Ordering {
            self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
        }
    }

    const PARTS: u32 = 1_000_000_000;

    /// Whether `right` or more of `of` is rarer than 1 in 40 when the proportion is `parts` billionths. Without rounding.
    fn is_rarer_than_one_in_forty(right: u32, of: u32, parts: u32) -> bool {
        // Trial by trial: how likely each count is, in parts of all. From `right` on nothing changes any more.
        let right = right as usize;
        let mut likely = vec![Natural(Vec::new()); right + 1];
        likely[0] = Natural::one();
        let mut all = Natural::one();
        for _ in 0..of {
            for count in (1..=right).rev() {
                let stays = if count == right { PARTS } else { PARTS - parts };
                likely[count] = likely[count].times(stays).plus(&likely[count - 1].times(parts));
            }
            likely[0] = likely[0].times(PARTS - parts);
            all = all.times(PARTS);
        }
        likely[right].times(40).compare(&all) == Ordering::Less
    }

    #[test]
    fn the_ends_are_where_exact_arithmetic_has_them() {
        for of in [1, 2, 5, 10, 17, 30, 60, 100] {
            for right in (0..=of).step_by(usize::try_from(of / 6 + 1).unwrap()) {
                let interval = clopper_pearson(right, of, 0.95);
                for (count, end) in [(right, interval.low), (of - right, 1.0 - interval.high)] {
                    if count == 0 {
                        assert!(end.abs() < f64::EPSILON);
                        continue;
                    }
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "it is in 0..=1"
                    )]
                    let parts = (end * f64::from(PARTS)).round() as u32;
                    let around = (parts.saturating_sub(1), (parts + 1).min(PARTS));
                    assert!(is_rarer_than_one_in_forty(count, of, around.0), "{count} of {of}: {end}");
                    assert!(!is_rarer_than_one_in_forty(count, of, around.1), "{count} of {of}: {end}");
                }
            }
        }
    }

    #[test]
    fn the_ends_are_those_of_the_tables() {
        // As printed in tables of exact binomial limits, to four places.
        for (right, of, low, high) in [
            (0, 10, 0.0, 0.3085),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (0, 20, 0.0, 0.1684),
            (3, 20, 0.0321, 0.3789),
            (15, 30, 0.3130, 0.6870),
            (50, 100, 0.3983, 0.6017),
            (95, 100, 0.8872, 0.9836),
        ] {
            let interval = clopper_pearson(right, of, 0.95);
            let near = |a: f64, b: f64| (a - b).abs() < 5.1e-5;
            assert!(near(interval.low, low) && near(interval.high, high), "{right} of {of}: {interval:?}");
        }
        assert_eq!(clopper_pearson(0, 0, 0.95), Interval { low: 0.0, high: 1.0 });
        // Where all or none come out right, an end has a formula.
        for of in [1, 7, 100, 10_000] {
            let formula = 1.0 - 0.025_f64.powf(1.0 / f64::from(of));
            assert!((clopper_pearson(0, of, 0.95).high - formula).abs() < 1e-12);
            assert!((clopper_pearson(of, of, 0.95).low - (1.0 - formula)).abs() < 1e-12);
        }
    }

    /// Judges that are right with a known probability: how often what is counted gives an interval that holds it.
    #[test]
    fn the_interval_of_a_judge_covers_what_the_judge_is() {
        let rates = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
        for of in 10..=100_u32 {
            let intervals: Vec<_> = (0..=of).map(|right| clopper_pearson(right, of, 0.95)).collect();
            for p in rates {
                let covering = (0..=of).zip(&intervals).filter(|(_, interval)| interval.covers(p));
                let covered: f64 = covering.map(|(right, _)| exactly(right, of, p)).sum();
                assert!(covered >= 0.95 - 1e-12, "n {of}, p {p}: covers {covered}");
            }
        }
    }
}

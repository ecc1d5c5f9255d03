//! Distributions of numbers of hits: binomial, hypergeometric, and sums of them.

/// A distribution over neighbouring whole numbers.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// The smallest number.
    first: u32,
    /// The probability of it, and of those after it.
    probabilities: Vec<f64>,
}

impl Distribution {
    /// The hits among `drawn` observations when `drawn + others` have `hits` together.
    pub(crate) fn hypergeometric(drawn: u32, others: u32, hits: u32) -> Self {
        let (first, last) = (hits.saturating_sub(others), hits.min(drawn));
        let (drawn, others, hits) = (f64::from(drawn), f64::from(others), f64::from(hits));
        Self::from_quotients(first, last, |x| {
            (drawn - x) * (hits - x) / ((x + 1.0) * (others - hits + x + 1.0))
        })
    }

    /// The hits among `n` observations, each a hit with the probability `rate`.
    pub(crate) fn binomial(n: u32, rate: f64) -> Self {
        let odds = rate / (1.0 - rate);
        if rate <= 0.0 || odds <= 0.0 {
            return Self::from_quotients(0, n, |_| 0.0);
        }
        if odds.is_infinite() {
            return Self::from_quotients(0, n, |_| f64::INFINITY);
        }
        let all = f64::from(n);
        Self::from_quotients(0, n, |x| (all - x) / (x + 1.0) * odds)
    }

    /// One number, for certain.
    pub(crate) fn certain(number: u32) -> Self {
        Self { first: number, probabilities: vec![1.0] }
    }

    /// A distribution by the quotients of neighbours, which fall: P(x + 1) / P(x).
    ///
    /// From the most likely number outwards there is no factorial, no overflow, and no term that cancels another.
    fn from_quotients(first: u32, last: u32, quotient: impl Fn(f64) -> f64) -> Self {
        let mode = (first..last).find(|&x| quotient(f64::from(x)) <= 1.0).unwrap_or(last);
        let mut probabilities = vec![1.0; (last - first) as usize + 1];
        let middle = (mode - first) as usize;
        for (at, x) in (first..mode).enumerate().rev() {
            probabilities[at] = probabilities[at + 1] / quotient(f64::from(x));
        }
        for (at, x) in (middle..).zip(mode..last) {
            probabilities[at + 1] = probabilities[at] * quotient(f64::from(x));
        }
        let sum: f64 = probabilities.iter().sum();
        for probability in &mut probabilities {
            *probability /= sum;
        }
        Self { first, probabilities }
    }

    /// The distribution of the sum of two independent numbers.
    pub(crate) fn convolve(mut self, other: &Self) -> Self {
        self.first = self.first.saturating_add(other.first);
        if let [_] = other.probabilities[..] {
            return self;
        }
        let mut sums = vec![0.0; self.probabilities.len() + other.probabilities.len() - 1];
        for (at, a) in self.probabilities.iter().enumerate() {
            for (sum, b) in sums[at..].iter_mut().zip(&other.probabilities) {
                *sum += a * b;
            }
        }
        self.probabilities = sums;
        self
    }

    /// The smallest number.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// The probability of the smallest number, and of those after it.
    pub(crate) fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// For the smallest number and those after it: the probability of that number or a greater one.
    pub(crate) fn upper_tails(&self) -> Vec<f64> {
        let mut tails = self.probabilities.clone();
        let mut sum = 0.0;
        for tail in tails.iter_mut().rev() {
            sum += *tail;
            *tail = f64::min(sum, 1.0);
        }
        tails
    }

    /// The probability of this number or a greater one.
    pub(crate) fn at_least(&self, number: u32) -> f64 {
        let from = (number.saturating_sub(self.first) as usize).min(self.probabilities.len());
        self.probabilities[from..].iter().rev().sum::<f64>().min(1.0)
    }

    /// The probability of this number or a smaller one.
    pub(crate) fn at_most(&self, number: u32) -> f64 {
        let numbers = number.checked_sub(self.first).map_or(0, |distance| distance as usize + 1);
        self.probabilities.iter().take(numbers).sum::<f64>().min(1.0)
    }

    /// The probability of all numbers that are no more likely than this one.
    pub(crate) fn no_more_likely_than(&self, number: u32) -> f64 {
        // Rounding must not tell equal probabilities apart. R and SciPy allow for the same.
        const SAME: f64 = 1.0 + 1e-7;
        let at = number.saturating_sub(self.first) as usize;
        let limit = self.probabilities.get(at).copied().unwrap_or(0.0) * SAME;
        self.probabilities.iter().filter(|p| **p <= limit).sum::<f64>().min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hypergeometric_distribution_is_that_of_drawing_from_an_urn() {
        // Three of five are hits, two are drawn: 1/10, 6/10, 3/10.
        let hits = Distribution::hypergeometric(2, 3, 3);
        for (found, by_hand) in hits.probabilities().iter().zip([0.1, 0.6, 0.3]) {
            assert!((found - by_hand).abs() < 1e-15);
        }
    }

    #[test]
    fn rates_at_the_ends_are_certain() {
        assert_eq!(Distribution::binomial(3, 0.0).probabilities(), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(Distribution::binomial(3, 1.0).probabilities(), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(Distribution::binomial(0, 0.3).probabilities(), [1.0]);
    }

    #[test]
    fn large_numbers_neither_overflow_nor_vanish() {
        let hits = Distribution::hypergeometric(100_000, 100_000, 90_000);
        assert!((hits.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((hits.at_least(45_000) + hits.at_most(44_999) - 1.0).abs() < 1e-12);
    }
}

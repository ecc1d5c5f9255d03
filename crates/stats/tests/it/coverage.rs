//! How often intervals hold the true rate: exactly, by summation, and simulated.

use std::ops::RangeInclusive;

use sortie_stats::{Counts, anytime_interval, clopper_pearson};

use crate::generator::Generator;

const LEVEL: f64 = 0.95;
const RATES: [f64; 10] = [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 0.99];

/// The probabilities of 0 to n hits: Pascal's triangle, independent of the code that is tested.
fn binomial(n: u32, rate: f64) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; probabilities.len() + 1];
        for (hits, probability) in probabilities.iter().enumerate() {
            next[hits] += probability * (1.0 - rate);
            next[hits + 1] += probability * rate;
        }
        probabilities = next;
    }
    probabilities
}

#[test]
fn the_exact_interval_covers_at_least_as_often_as_it_says_at_every_fixed_n() {
    let mut least = (1.0, 0, 0.0);
    for n in [1, 2, 5, 10, 18, 20, 37, 59, 77, 100, 150] {
        let intervals: Vec<_> = (0..=n).map(|hits| clopper_pearson(Counts::new(hits, n), LEVEL)).collect();
        for rate in (1..200).map(|part| f64::from(part) / 200.0).chain([0.0001, 0.001, 0.999]) {
            let covered: f64 = (intervals.iter().zip(binomial(n, rate)))
                .filter(|(interval, _)| interval.contains(rate))
                .map(|(_, probability)| probability)
                .sum();
            assert!(covered >= LEVEL - 1e-12, "n {n}, rate {rate}: {covered}");
            if covered < least.0 {
                least = (covered, n, rate);
            }
        }
    }
    println!("  least coverage {:.4} at n {}, rate {}", least.0, least.1, least.2);
    // An interval that is much wider than it has to be would pass, too.
    assert!(least.0 < 0.96);
}

/// For each n the numbers of hits whose interval holds the rate. They are neighbours, and both ends only grow with n.
fn covering(rate: f64, up_to: u32) -> Vec<RangeInclusive<u32>> {
    let holds = |hits, n| anytime_interval(Counts::new(hits, n), LEVEL).contains(rate);
    let (mut first, mut last) = (0, 0);
    (1..=up_to)
        .map(|n| {
            while !holds(first, n) {
                first += 1;
            }
            last = last.max(first);
            while last < n && holds(last + 1, n) {
                last += 1;
            }
            first..=last
        })
        .collect()
}

/// The probability that the intervals of all n hold the rate, without simulation.
fn exact_simultaneous_coverage(rate: f64, covering: &[RangeInclusive<u32>]) -> f64 {
    let mut alive = vec![1.0];
    for range in covering {
        let mut next = vec![0.0; alive.len() + 1];
        for (hits, probability) in alive.iter().enumerate() {
            next[hits] += probability * (1.0 - rate);
            next[hits + 1] += probability * rate;
        }
        for (hits, probability) in (0..).zip(&mut next) {
            if !range.contains(&hits) {
                *probability = 0.0;
            }
        }
        alive = next;
    }
    alive.iter().sum()
}

fn simulate(simulations: u32, up_to: u32) {
    for (seed, rate) in (1..).zip(RATES) {
        let covering = covering(rate, up_to);
        let mut random = Generator::new(seed);
        let covered = (0..simulations)
            .filter(|_| {
                let mut hits = 0;
                covering.iter().all(|range| {
                    hits += u32::from(random.happens(rate));
                    range.contains(&hits)
                })
            })
            .count();
        let share = f64::from(u32::try_from(covered).unwrap()) / f64::from(simulations);
        let exact = exact_simultaneous_coverage(rate, &covering);
        println!(
            "  rate {rate}: {share:.4} of {simulations} covered at every n up to {up_to}; exactly {exact:.4}"
        );
        assert!(share >= LEVEL, "rate {rate}: {share}");
        assert!(exact >= LEVEL, "rate {rate}: {exact}");
        // Four standard errors of the simulation.
        assert!(
            (share - exact).abs() < 4.0 * (0.05 / f64::from(simulations)).sqrt(),
            "rate {rate}: {share}, {exact}"
        );
    }
}

#[test]
fn the_mixture_interval_covers_at_every_moment() {
    simulate(1000, 300);
}

#[test]
#[ignore = "takes a minute without optimisation: cargo test --release -p sortie-stats -- --ignored --nocapture"]
fn the_mixture_interval_covers_at_every_moment_of_ten_thousand_long_campaigns() {
    simulate(10_000, 1000);
}

/// What the interval is for: the exact one, looked at after every run, misses the rate far more often than it says.
#[test]
fn the_exact_interval_does_not_cover_at_every_moment() {
    let mut random = Generator::new(5);
    let intervals: Vec<Vec<_>> = (0..=200)
        .map(|n| (0..=n).map(|hits| clopper_pearson(Counts::new(hits, n), LEVEL)).collect())
        .collect();
    let covered = (0..1000)
        .filter(|_| {
            let mut hits = 0;
            (1..=200).all(|n| {
                hits += usize::from(random.happens(0.2));
                intervals[n][hits].contains(0.2)
            })
        })
        .count();
    println!("  the exact interval, looked at 200 times, covers in {covered} of 1,000");
    assert!(covered < 900);
}

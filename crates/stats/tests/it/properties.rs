//! What holds for all counts.

use proptest::prelude::*;
use sortie_stats::{
    Alternative, ConfidenceInterval, Counts, ErrorRates, Gate, PairedCase, SequentialTest, anytime_interval,
    boschloo_test, clopper_pearson, clopper_pearson_high, clopper_pearson_low, holm, macro_average, mcnemar,
    stratified_test,
};

const INTERVALS: [fn(Counts, f64) -> ConfidenceInterval; 2] = [clopper_pearson, anytime_interval];
const ALTERNATIVES: [Alternative; 3] =
    [Alternative::MoreHits, Alternative::FewerHits, Alternative::Different];

/// Hits among a number of observations.
fn counts(most: u32) -> impl Strategy<Value = Counts> {
    (1..=most).prop_flat_map(|n| (0..=n, Just(n))).prop_map(|(hits, n)| Counts::new(hits, n))
}

fn paired_case(most: u32) -> impl Strategy<Value = PairedCase> {
    (counts(most), counts(most)).prop_map(|(baseline, candidate)| PairedCase { baseline, candidate })
}

/// Rounding at the last digits is not disorder.
const ROUNDING: f64 = 1e-12;

proptest! {
    #[test]
    fn intervals_hold_the_observed_rate(counts in counts(1_000_000), level in 0.5..0.9999_f64) {
        for interval in INTERVALS {
            let found = interval(counts, level);
            prop_assert!(found.contains(counts.rate().unwrap()), "{counts:?}: {found:?}");
            prop_assert!(found.low >= 0.0 && found.high <= 1.0 && found.width() > 0.0);
        }
    }

    #[test]
    fn intervals_rise_with_hits(counts in counts(5000)) {
        prop_assume!(counts.clean > 0);
        let more = Counts { hits: counts.hits + 1, clean: counts.clean - 1 };
        for interval in INTERVALS {
            let (lower, higher) = (interval(counts, 0.95), interval(more, 0.95));
            prop_assert!(lower.low < higher.low && lower.high < higher.high, "{lower:?}, {higher:?}");
        }
    }

    #[test]
    fn intervals_are_narrower_with_more_observations_at_the_same_rate(counts in counts(2000), factor in 2..10_u32) {
        let more = Counts { hits: counts.hits * factor, clean: counts.clean * factor };
        for interval in INTERVALS {
            prop_assert!(interval(more, 0.95).width() < interval(counts, 0.95).width(), "{counts:?} × {factor}");
        }
    }

    #[test]
    fn intervals_are_wider_with_a_higher_level_and_mirrored_for_the_opposite(counts in counts(5000), level in 0.5..0.99_f64) {
        for interval in INTERVALS {
            let (narrow, wide) = (interval(counts, level), interval(counts, level + 0.009));
            prop_assert!(wide.low <= narrow.low && wide.high >= narrow.high);
            let mirrored = interval(Counts { hits: counts.clean, clean: counts.hits }, level);
            prop_assert!((narrow.low - (1.0 - mirrored.high)).abs() < ROUNDING);
        }
    }

    #[test]
    fn no_count_and_no_level_gives_anything_but_an_interval(hits: u32, clean: u32, level in any::<f64>()) {
        // The continued fraction takes √n steps: few of these are enough.
        let counts = Counts { hits: hits % 2_000_000, clean: clean % 2_000_000 };
        for interval in INTERVALS {
            let found = interval(counts, level);
            prop_assert!(0.0 <= found.low && found.low <= found.high && found.high <= 1.0, "{counts:?}: {found:?}");
            prop_assert!((0.0..=1.0).contains(&found.level));
        }
        for limit in [clopper_pearson_low(counts, level), clopper_pearson_high(counts, level)] {
            prop_assert!((0.0..=1.0).contains(&limit), "{limit}");
        }
    }

    #[test]
    fn the_order_of_observations_does_not_change_the_likelihood_ratio(
        observations in prop::collection::vec(any::<bool>(), 0..60),
        rotation in 0..60_usize,
    ) {
        let gate = Gate::new(0.05, 0.2).unwrap();
        let test = SequentialTest::new(gate, ErrorRates::default(), 1, 1000);
        let mut other = observations.clone();
        other.reverse();
        other.rotate_left(rotation % observations.len().max(1));
        let (mut first, mut second) = (test.start(), test.start());
        for (hit, of_other) in observations.iter().zip(&other) {
            first.observe(*hit);
            second.observe(*of_other);
        }
        prop_assert_eq!(first.log_likelihood_ratio().to_bits(), second.log_likelihood_ratio().to_bits());
        prop_assert_eq!(first.counts(), second.counts());
        // The ratio is what its definition says: a sum over the observations.
        let weight = |hit: bool| if hit { 4_f64.ln() } else { (0.8_f64 / 0.95).ln() };
        let sum: f64 = observations.iter().map(|hit| weight(*hit)).sum();
        prop_assert!((first.log_likelihood_ratio() - sum).abs() < 1e-10);
    }

    #[test]
    fn a_forecast_is_a_distribution(rate in 0.0..=1.0_f64, cases in 1..200_u32, cap in 0..300_u32) {
        let test = SequentialTest::new(Gate::new(0.05, 0.2).unwrap(), ErrorRates::default(), cases, cap);
        let forecast = test.forecast(rate);
        prop_assert!((forecast.holds + forecast.fails + forecast.undecided - 1.0).abs() < 1e-10);
        prop_assert!(forecast.mean_observations <= f64::from(cap) + 1e-9);
    }

    #[test]
    fn the_stratified_test_is_mcnemars_for_one_attempt_each(
        pairs in prop::collection::vec(any::<(bool, bool)>(), 0..200),
    ) {
        let once = |hit| Counts::new(u32::from(hit), 1);
        let cases: Vec<PairedCase> =
            pairs.iter().map(|(a, b)| PairedCase { baseline: once(*a), candidate: once(*b) }).collect();
        let count = |pair| u32::try_from(pairs.iter().filter(|found| **found == pair).count()).unwrap();
        for alternative in ALTERNATIVES {
            let (stratified, simple) =
                (stratified_test(&cases, alternative), mcnemar(count((true, false)), count((false, true)), alternative));
            prop_assert!((stratified - simple).abs() <= 1e-10 * simple, "{alternative:?}: {stratified}, {simple}");
        }
    }

    #[test]
    fn tests_are_mirrored_when_runs_are_exchanged(cases in prop::collection::vec(paired_case(20), 1..10)) {
        let exchanged: Vec<PairedCase> =
            cases.iter().map(|case| PairedCase { baseline: case.candidate, candidate: case.baseline }).collect();
        let more = stratified_test(&cases, Alternative::MoreHits);
        prop_assert!((more - stratified_test(&exchanged, Alternative::FewerHits)).abs() < ROUNDING);
        let more = boschloo_test(cases[0], Alternative::MoreHits);
        prop_assert!((more - boschloo_test(exchanged[0], Alternative::FewerHits)).abs() < 1e-9);
    }

    #[test]
    fn boschloo_is_never_above_fisher(case in paired_case(25)) {
        for alternative in [Alternative::MoreHits, Alternative::FewerHits] {
            let (boschloo, fisher) = (boschloo_test(case, alternative), stratified_test(&[case], alternative));
            prop_assert!(boschloo <= fisher + ROUNDING && boschloo > 0.0, "{case:?}: {boschloo}, {fisher}");
        }
    }

    #[test]
    fn holm_keeps_the_order_and_lies_between_the_value_and_bonferronis(p in prop::collection::vec(0.0..=1.0_f64, 1..50)) {
        let adjusted = holm(&p);
        let m = f64::from(u32::try_from(p.len()).unwrap());
        for (value, found) in p.iter().zip(&adjusted) {
            let bonferroni = (value * m).min(1.0);
            prop_assert!(*found >= *value && *found <= bonferroni + ROUNDING);
            for (other, of_other) in p.iter().zip(&adjusted) {
                prop_assert!(value > other || found <= of_other);
            }
        }
    }

    #[test]
    fn the_mean_over_cases_lies_in_its_interval(cases in prop::collection::vec(counts(50), 1..100)) {
        let average = macro_average(&cases, 0.95).unwrap();
        prop_assert!(average.interval.contains(average.rate), "{average:?}");
        prop_assert!(average.interval.width() > 0.0 && average.interval.low >= 0.0 && average.interval.high <= 1.0);
        let observations: f64 = cases.iter().map(|case| f64::from(case.n())).sum();
        prop_assert!(average.effective_n <= observations && average.effective_n >= f64::from(average.cases));
    }
}

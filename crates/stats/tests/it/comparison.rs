//! Comparisons of two runs: levels that are kept, and runs that would tell.

use sortie_stats::{
    Alternative, BOSCHLOO_MAX_RUNS, Counts, PairedCase, boschloo_test, mcnemar, runs_to_tell, stratified_test,
};

fn case(baseline: (u32, u32), candidate: (u32, u32)) -> PairedCase {
    PairedCase {
        baseline: Counts::new(baseline.0, baseline.1),
        candidate: Counts::new(candidate.0, candidate.1),
    }
}

fn binomial(n: u32, rate: f64) -> Vec<f64> {
    let mut ways = 1.0;
    (0..=n)
        .map(|hits| {
            let exponents = (i32::try_from(hits).unwrap(), i32::try_from(n - hits).unwrap());
            let probability = ways * rate.powi(exponents.0) * (1.0 - rate).powi(exponents.1);
            ways *= f64::from(n - hits) / f64::from(hits + 1);
            probability
        })
        .collect()
}

/// The probability that the test rejects, for two sizes and two rates.
fn rejects(
    test: impl Fn(PairedCase) -> f64,
    alpha: f64,
    sizes: (u32, u32),
    rates: &[(f64, f64)],
) -> Vec<f64> {
    let mut sums = vec![0.0; rates.len()];
    let weights: Vec<_> = rates.iter().map(|r| (binomial(sizes.0, r.0), binomial(sizes.1, r.1))).collect();
    for (a, i) in (0..=sizes.0).zip(0..) {
        for (b, j) in (0..=sizes.1).zip(0..) {
            if test(case((a, sizes.0), (b, sizes.1))) <= alpha {
                for (sum, (of_baseline, of_candidate)) in sums.iter_mut().zip(&weights) {
                    *sum += of_baseline[i] * of_candidate[j];
                }
            }
        }
    }
    sums
}

#[test]
fn boschloo_keeps_its_level_for_every_common_rate_and_finds_more_than_fisher() {
    let boschloo = |case| boschloo_test(case, Alternative::MoreHits);
    let fisher = |case: PairedCase| stratified_test(&[case], Alternative::MoreHits);
    let common: Vec<(f64, f64)> =
        (1..100).map(|part| f64::from(part) / 100.0).map(|rate| (rate, rate)).collect();
    for sizes in [(5, 5), (10, 10), (7, 12)] {
        for size in rejects(boschloo, 0.05, sizes, &common) {
            assert!(size <= 0.05 + 1e-9, "{sizes:?}: {size}");
        }
        let [found] = rejects(boschloo, 0.05, sizes, &[(0.05, 0.6)])[..] else { unreachable!() };
        let [of_fisher] = rejects(fisher, 0.05, sizes, &[(0.05, 0.6)])[..] else { unreachable!() };
        println!("  {sizes:?}, 5 % against 60 %: Boschloo finds {found:.3}, Fisher {of_fisher:.3}");
        assert!(found > of_fisher);
    }
}

#[test]
fn sides_without_observations_say_nothing() {
    for alternative in [Alternative::MoreHits, Alternative::FewerHits, Alternative::Different] {
        for empty in [case((0, 0), (3, 5)), case((3, 5), (0, 0)), case((0, 0), (0, 0))] {
            assert!((boschloo_test(empty, alternative) - 1.0).abs() < 1e-15);
            assert!((stratified_test(&[empty], alternative) - 1.0).abs() < 1e-15);
        }
        assert!((stratified_test(&[], alternative) - 1.0).abs() < 1e-15);
        assert!((mcnemar(0, 0, alternative) - 1.0).abs() < 1e-15);
    }
}

#[test]
fn beyond_its_limit_boschloo_is_fisher_which_is_never_smaller() {
    let n = BOSCHLOO_MAX_RUNS;
    let within = case((n / 10, n), (n / 7, n));
    assert!(boschloo_test(within, Alternative::MoreHits) < stratified_test(&[within], Alternative::MoreHits));
    let beyond = case((n / 10, n), (n / 7, n + 1));
    let fisher = stratified_test(&[beyond], Alternative::MoreHits);
    assert!((boschloo_test(beyond, Alternative::MoreHits) - fisher).abs() < 1e-15);
}

#[test]
fn the_runs_that_would_tell_have_the_power_and_one_less_has_not() {
    for (baseline, candidate, alpha) in
        [(0.0, 0.5, 0.05), (0.1, 0.6, 0.05), (0.6, 0.1, 0.05), (0.2, 0.9, 0.001)]
    {
        let runs = runs_to_tell(baseline, candidate, alpha, 0.8, 100).unwrap();
        let direction = if baseline < candidate { Alternative::MoreHits } else { Alternative::FewerHits };
        let power = |runs| {
            let test = |case| boschloo_test(case, direction);
            rejects(test, alpha, (runs, runs), &[(baseline, candidate)])[0]
        };
        println!(
            "  {baseline} against {candidate} at {alpha}: {runs} runs on each side, power {:.3}",
            power(runs)
        );
        assert!(power(runs) >= 0.8 && power(runs - 1) < 0.8, "{runs}: {}, {}", power(runs), power(runs - 1));
    }
}

#[test]
fn runs_that_would_tell_are_bounded() {
    assert_eq!(runs_to_tell(0.1, 0.1, 0.05, 0.8, 300), None);
    assert_eq!(runs_to_tell(0.1, 0.11, 0.05, 0.8, 50), None);
    assert_eq!(runs_to_tell(0.0, 1.0, 0.05, 0.8, 0), None);
    assert_eq!(runs_to_tell(0.0, 1.0, 0.05, 0.8, 2), None);
    assert_eq!(runs_to_tell(f64::NAN, 0.3, 0.05, 0.8, 20), None);
}

//! Values of other programs, to 1e-9. `fixtures/generate.py` wrote them; each file names its source.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sortie_stats::{
    Alternative, Claim, Counts, PairedCase, anytime_interval, boschloo_test, clopper_pearson,
    clopper_pearson_high, clopper_pearson_low, holm, mcnemar, stratified_test,
};

/// As close as this, and as close as this in relation to the value.
const CLOSE: f64 = 1e-9;

#[derive(Deserialize)]
struct Fixture<Row> {
    source: String,
    rows: Vec<Row>,
}

fn rows<Row: DeserializeOwned>(text: &str) -> Vec<Row> {
    let fixture: Fixture<Row> = serde_json::from_str(text).unwrap();
    assert!(!fixture.source.is_empty());
    fixture.rows
}

#[track_caller]
fn assert_close(found: f64, expected: f64, of: impl std::fmt::Debug) {
    let error = (found - expected).abs();
    assert!(
        error <= CLOSE && error <= CLOSE * expected.abs(),
        "{of:?}: {found:e}, and {expected:e} is expected"
    );
}

#[derive(Debug, Deserialize)]
struct IntervalRow {
    hits: u32,
    n: u32,
    level: f64,
    low: f64,
    high: f64,
}

#[test]
fn clopper_pearson_is_scipys() {
    let rows: Vec<IntervalRow> = rows(include_str!("../fixtures/clopper_pearson.json"));
    assert!(rows.len() >= 200);
    for row in &rows {
        let counts = Counts::new(row.hits, row.n);
        let interval = clopper_pearson(counts, row.level);
        assert_close(interval.low, row.low, row);
        assert_close(interval.high, row.high, row);
        // Each limit alone is that of the one-sided interval with half of the error.
        let one_sided = 1.0 - (1.0 - row.level) / 2.0;
        assert!((clopper_pearson_low(counts, one_sided) - row.low).abs() < CLOSE, "{row:?}");
        assert!((clopper_pearson_high(counts, one_sided) - row.high).abs() < CLOSE, "{row:?}");
    }
}

#[test]
fn the_mixture_interval_is_the_root_found_in_forty_digits() {
    for row in rows::<IntervalRow>(include_str!("../fixtures/anytime.json")) {
        let interval = anytime_interval(Counts::new(row.hits, row.n), row.level);
        assert_close(interval.low, row.low, &row);
        assert_close(interval.high, row.high, &row);
    }
}

/// How many clean runs show a rate below a bound at 95 %: with the number fixed in advance, and with a look after every run.
#[test]
fn clean_runs_are_those_of_the_published_table() {
    for (below, fixed, anytime) in [
        (0.5, 5, 7),
        (0.3, 9, 14),
        (0.2, 14, 24),
        (0.1, 29, 53),
        (0.05, 59, 116),
        (0.02, 149, 320),
        (0.01, 299, 680),
    ] {
        assert_eq!(Claim::new(below).unwrap().clean_runs(0.95), fixed, "{below}");
        let high = |n| anytime_interval(Counts::new(0, n), 0.95).high;
        assert!(
            high(anytime) < below && high(anytime - 1) >= below,
            "{below}: {}, {}",
            high(anytime),
            high(anytime - 1)
        );
    }
}

#[derive(Debug, Deserialize)]
struct McNemarRow {
    only_baseline: u32,
    only_candidate: u32,
    more: f64,
    fewer: f64,
    different: f64,
}

#[test]
fn mcnemar_is_scipys_binomial_test() {
    for row in rows::<McNemarRow>(include_str!("../fixtures/mcnemar.json")) {
        let p = |alternative| mcnemar(row.only_baseline, row.only_candidate, alternative);
        assert_close(p(Alternative::MoreHits), row.more, &row);
        assert_close(p(Alternative::FewerHits), row.fewer, &row);
        assert_close(p(Alternative::Different), row.different, &row);
    }
}

/// Hits and observations.
type Pair = (u32, u32);

fn paired((baseline, candidate): (Pair, Pair)) -> PairedCase {
    PairedCase {
        baseline: Counts::new(baseline.0, baseline.1),
        candidate: Counts::new(candidate.0, candidate.1),
    }
}

#[derive(Debug, Deserialize)]
struct StratifiedRow {
    strata: Vec<(Pair, Pair)>,
    more: f64,
    fewer: f64,
    different: f64,
}

#[test]
fn the_stratified_test_is_that_of_exact_fractions() {
    let rows: Vec<StratifiedRow> = rows(include_str!("../fixtures/stratified.json"));
    assert!(rows.iter().any(|row| row.strata.len() == 1) && rows.iter().any(|row| row.strata.len() == 77));
    for row in &rows {
        let cases: Vec<PairedCase> = row.strata.iter().copied().map(paired).collect();
        assert_close(stratified_test(&cases, Alternative::MoreHits), row.more, row);
        assert_close(stratified_test(&cases, Alternative::FewerHits), row.fewer, row);
        assert_close(stratified_test(&cases, Alternative::Different), row.different, row);
    }
}

#[derive(Debug, Deserialize)]
struct BoschlooRow {
    baseline: Pair,
    candidate: Pair,
    more: f64,
    fewer: f64,
    scipy_more: f64,
    scipy_fewer: f64,
}

#[test]
fn boschloo_is_scipys_and_that_of_a_finer_search() {
    for row in rows::<BoschlooRow>(include_str!("../fixtures/boschloo.json")) {
        let case = paired((row.baseline, row.candidate));
        let (more, fewer) =
            (boschloo_test(case, Alternative::MoreHits), boschloo_test(case, Alternative::FewerHits));
        for (found, finer, scipy) in [(more, row.more, row.scipy_more), (fewer, row.fewer, row.scipy_fewer)] {
            assert_close(found, finer, &row);
            assert!((found - scipy).abs() < CLOSE, "{row:?}: {found:e}");
        }
        let different = boschloo_test(case, Alternative::Different);
        assert!((different - (2.0 * row.more.min(row.fewer)).min(1.0)).abs() < CLOSE, "{row:?}");
    }
}

/// Sorted: 0.005 × 4, 0.01 × 3, 0.03 × 2, 0.04 × 1, which is below the one before it.
#[test]
fn holm_is_what_one_computes_by_hand() {
    let cases: &[(&[f64], &[f64])] = &[
        (&[], &[]),
        (&[0.03], &[0.03]),
        (&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]),
        (&[0.5, 0.4, 0.9], &[1.0, 1.0, 1.0]),
        (&[0.02, 0.02, 0.02], &[0.06, 0.06, 0.06]),
        (&[f64::NAN, 0.01], &[1.0, 0.02]),
    ];
    for (p_values, by_hand) in cases {
        let adjusted = holm(p_values);
        assert_eq!(adjusted.len(), by_hand.len());
        assert!(
            adjusted.iter().zip(*by_hand).all(|(a, b)| (a - b).abs() < 1e-15),
            "{p_values:?}: {adjusted:?}"
        );
    }
}

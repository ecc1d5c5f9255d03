//! The mean over cases: behaviour at the ends, and coverage for agents whose cases differ.

use sortie_stats::{Counts, macro_average};

use crate::generator::Generator;

#[test]
fn cases_count_once_however_often_they_ran() {
    let average = macro_average(&[Counts::new(0, 1000), Counts::new(5, 5), Counts::new(0, 0)], 0.95).unwrap();
    assert!((average.rate - 0.5).abs() < 1e-15);
    assert_eq!(average.cases, 2);
    assert_eq!(macro_average(&[], 0.95), None);
    assert_eq!(macro_average(&[Counts::new(0, 0)], 0.95), None);
}

#[test]
fn rates_that_are_all_alike_do_not_give_an_interval_without_width() {
    for cases in [1, 2, 3, 10, 77] {
        for n in [1, 5, 100] {
            let clean = macro_average(&vec![Counts::new(0, n); cases], 0.95).unwrap();
            let hits = macro_average(&vec![Counts::new(n, n); cases], 0.95).unwrap();
            assert!(clean.interval.low.abs() < 1e-15 && (hits.interval.high - 1.0).abs() < 1e-15);
            // As wide as that of the cases with one run each: more runs of the same cases do not show that others are clean.
            let once =
                sortie_stats::clopper_pearson(Counts::new(0, u32::try_from(cases).unwrap()), 0.95).high;
            assert!((clean.interval.high - once).abs() < 1e-3, "{cases} × {n}: {clean:?}");
            assert!((1.0 - hits.interval.low - once).abs() < 1e-3, "{cases} × {n}: {hits:?}");
            if n > 1 {
                let half = macro_average(&vec![Counts::new(n / 2, n); cases], 0.95).unwrap();
                assert!(half.interval.width() > 0.01 && half.interval.contains(half.rate), "{half:?}");
            }
        }
    }
}

/// One more hit says that the rate is higher. It also says a little about how cases differ, so the limit may fall by a little: an
/// effective number that jumps from the number of cases to that of observations would more than halve it.
#[test]
fn a_first_hit_does_not_make_the_upper_limit_jump_down() {
    for cases in [5, 20, 77] {
        for n in [1, 5, 20] {
            let mut counts = vec![Counts::new(0, n); cases];
            let clean = macro_average(&counts, 0.95).unwrap().interval.high;
            let mut before = clean;
            for case in 0..5.min(cases) {
                counts[case] = Counts::new(1, n);
                let high = macro_average(&counts, 0.95).unwrap().interval.high;
                println!("  {cases} × {n}, {} hits: up to {high:.4}", case + 1);
                assert!(
                    high >= clean * 0.97 && high >= before * 0.97,
                    "{cases} × {n}: {clean}, {before}, {high}"
                );
                before = high;
            }
        }
    }
}

/// The rate of a new case, by kind of agent. Its mean is the second number.
type CaseRate = (&'static str, f64, fn(&mut Generator) -> f64);

const AGENTS: [CaseRate; 6] = [
    ("every case at 5 %", 0.05, |_| 0.05),
    ("every case at 30 %", 0.3, |_| 0.3),
    ("1 case in 20 always gives in", 0.05, |random| f64::from(u8::from(random.happens(0.05)))),
    ("1 case in 3 always gives in", 1.0 / 3.0, |random| f64::from(u8::from(random.happens(1.0 / 3.0)))),
    ("rates from 0 to 1, all as likely", 0.5, Generator::unit),
    ("the cube of such rates", 0.25, |random| random.unit().powi(3)),
];

fn simulate(simulations: u32) {
    for (name, mean, rate) in AGENTS {
        for (cases, n) in [(10, 5), (77, 1), (77, 5), (77, 20)] {
            let mut random = Generator::new(n);
            let mut covered = 0;
            let mut width = 0.0;
            for _ in 0..simulations {
                let counts: Vec<Counts> = (0..cases)
                    .map(|_| {
                        let rate = rate(&mut random);
                        let mut counts = Counts::default();
                        (0..n).for_each(|_| counts.observe(random.happens(rate)));
                        counts
                    })
                    .collect();
                let interval = macro_average(&counts, 0.95).unwrap().interval;
                covered += u32::from(interval.contains(mean));
                width += interval.width() / f64::from(simulations);
            }
            let share = f64::from(covered) / f64::from(simulations);
            println!("  {name}, {cases} cases × {n}: covered {share:.4}, mean width {width:.3}");
            // Three standard errors below the level.
            assert!(
                share >= 0.95 - 3.0 * (0.05 * 0.95 / f64::from(simulations)).sqrt(),
                "{name}, {cases} × {n}: {share}"
            );
        }
    }
}

#[test]
fn the_interval_covers_the_mean_over_all_cases_that_there_might_be() {
    simulate(300);
}

#[test]
#[ignore = "takes minutes without optimisation: cargo test --release -p sortie-stats -- --ignored --nocapture"]
fn the_interval_covers_the_mean_in_ten_thousand_simulations() {
    simulate(10_000);
}

//! The sequential test: simulated against its exact theory, and its promises about a library of cases.

use sortie_stats::{Counts, ErrorRates, Gate, GateDecision, SequentialTest};

use crate::generator::Generator;

const RATES: [f64; 6] = [0.0, 0.02, 0.05, 0.1, 0.2, 0.5];

fn test(cases: u32, cap: u32) -> SequentialTest {
    SequentialTest::new("5%:20%".parse().unwrap(), ErrorRates::default(), cases, cap)
}

/// One campaign of one case: the answer, and how many observations it took.
fn play(test: &SequentialTest, rate: f64, random: &mut Generator) -> (GateDecision, u32) {
    let mut state = test.start();
    while state.wants_more() {
        state.observe(random.happens(rate));
    }
    (state.decision(), state.counts().n())
}

#[test]
fn clean_runs_hold_after_eighteen_whatever_the_number_of_cases() {
    for cases in [0, 1, 2, 77, 10_000, u32::MAX] {
        let test = test(cases, 200);
        assert_eq!(test.clean_runs(), 18);
        assert_eq!(play(&test, 0.0, &mut Generator::new(0)), (GateDecision::Holds, 18));
    }
    for (gate, runs) in [("2%:10%", 35), ("1%:10%", 31)] {
        let gate = gate.parse().unwrap();
        assert_eq!(SequentialTest::new(gate, ErrorRates::default(), 1, 200).clean_runs(), runs);
    }
}

#[test]
fn the_bounds_are_walds_and_only_the_upper_one_knows_of_other_cases() {
    let (one, many) = (test(1, 200), test(77, 200));
    assert!(
        (one.upper_bound() - 19_f64.ln()).abs() < 1e-12 && (one.lower_bound() + 19_f64.ln()).abs() < 1e-12
    );
    assert!((many.upper_bound() - (77.0 * 19_f64).ln()).abs() < 1e-12);
    assert!((many.lower_bound() - one.lower_bound()).abs() < 1e-15);
}

#[test]
fn a_decision_stays_and_a_cap_leaves_a_case_undecided() {
    let mut state = test(1, 200).start();
    let decisions: Vec<GateDecision> = [true, true, true].map(|hit| state.observe(hit)).to_vec();
    assert_eq!(decisions, [GateDecision::Undecided, GateDecision::Undecided, GateDecision::Fails]);
    for _ in 0..100 {
        assert_eq!(state.observe(false), GateDecision::Fails);
    }
    assert_eq!(state.counts(), Counts::new(3, 103));

    let mut capped = test(1, 10).start();
    for _ in 0..50 {
        assert_eq!(capped.observe(false), GateDecision::Undecided);
    }
    assert!(!capped.wants_more());
    assert!(test(1, 10).forecast(0.0).undecided > 1.0 - 1e-12);
}

/// All sequences of observations up to a small cap, each played.
#[test]
fn a_forecast_is_the_sum_over_all_sequences() {
    for cap in [1, 2, 7, 12] {
        let test = SequentialTest::new("30%:70%".parse().unwrap(), "20%,20%".parse().unwrap(), 1, cap);
        for rate in [0.1, 0.3, 0.5, 0.9] {
            let (mut holds, mut fails, mut undecided, mut mean) = (0.0, 0.0, 0.0, 0.0);
            for sequence in 0..1_u32 << cap {
                let mut state = test.start();
                let mut probability = 1.0;
                let mut taken = 0.0;
                for hit in (0..cap).map(|bit| sequence >> bit & 1 == 1) {
                    taken += f64::from(u8::from(state.wants_more()));
                    probability *= if hit { rate } else { 1.0 - rate };
                    state.observe(hit);
                }
                mean += probability * taken;
                match state.decision() {
                    GateDecision::Holds => holds += probability,
                    GateDecision::Fails => fails += probability,
                    GateDecision::Undecided => undecided += probability,
                }
            }
            let forecast = test.forecast(rate);
            for (found, summed) in [
                (forecast.holds, holds),
                (forecast.fails, fails),
                (forecast.undecided, undecided),
                (forecast.mean_observations, mean),
            ] {
                assert!((found - summed).abs() < 1e-12, "cap {cap}, {rate}: {forecast:?}, {summed}");
            }
        }
    }
}

/// 10,000 campaigns at each rate. The theory is exact, so 5 % of the mean is many standard errors.
#[test]
fn simulated_campaigns_keep_the_error_rates_and_take_as_long_as_the_theory_says() {
    const CAMPAIGNS: u32 = 10_000;
    println!("  cases  cap  rate   holds    fails  undecided   mean   theory (holds, fails, mean)");
    for (cases, cap) in [(1, 1000), (1, 40), (77, 1000)] {
        let test = test(cases, cap);
        for (seed, rate) in (1..).zip(RATES) {
            let mut random = Generator::new(seed);
            let (mut holds, mut fails, mut observations) = (0, 0, 0);
            for _ in 0..CAMPAIGNS {
                let (decision, n) = play(&test, rate, &mut random);
                holds += u32::from(decision == GateDecision::Holds);
                fails += u32::from(decision == GateDecision::Fails);
                observations += n;
            }
            let share = |count: u32| f64::from(count) / f64::from(CAMPAIGNS);
            let mean = f64::from(observations) / f64::from(CAMPAIGNS);
            let theory = test.forecast(rate);
            println!(
                "  {cases:>5} {cap:>4}  {rate:<4} {:>7.4} {:>8.4} {:>10.4} {mean:>6.2}   {:.4}, {:.4}, {:.2}",
                share(holds),
                share(fails),
                1.0 - share(holds) - share(fails),
                theory.holds,
                theory.fails,
                theory.mean_observations,
            );
            assert!((mean / theory.mean_observations - 1.0).abs() < 0.05, "{rate}: mean {mean}, {theory:?}");
            assert!((share(holds) - theory.holds).abs() < 0.02, "{rate}: {} hold, {theory:?}", share(holds));
            assert!((share(fails) - theory.fails).abs() < 0.02, "{rate}: {} fail, {theory:?}", share(fails));
            if rate <= 0.05 {
                assert!(share(fails) <= 0.05, "{rate}: {} fail", share(fails));
            }
            if rate >= 0.2 {
                assert!(share(holds) <= 0.05, "{rate}: {} hold", share(holds));
            }
        }
    }
}

/// A library fails an agent when one of its cases does: neither one that never gives in, nor one at the limit of what holds.
#[test]
fn a_library_of_77_fails_a_good_agent_in_at_most_one_campaign_of_twenty() {
    let test = test(77, 200);
    for rate in [0.0, 0.05] {
        let mut random = Generator::new(77);
        let failed = (0..1000)
            .filter(|_| {
                // Every case is played, so that a campaign takes the same random numbers whether it fails or not.
                let fails =
                    (0..77).filter(|_| play(&test, rate, &mut random).0 == GateDecision::Fails).count();
                fails > 0
            })
            .count();
        let theory = 1.0 - (1.0 - test.forecast(rate).fails).powi(77);
        println!("  at {rate} in every case: {failed} of 1,000 libraries fail; theory {theory:.4}");
        assert!(failed <= 50, "{rate}: {failed} of 1,000");
        assert!(theory <= 0.05);
    }
    // Without the division by the number of cases nearly every library fails.
    assert!(1.0 - (1.0 - self::test(1, 200).forecast(0.05).fails).powi(77) > 0.9);
}

/// Wald's inequalities, with nothing simulated.
#[test]
fn the_exact_error_rates_of_many_gates_are_below_walds_limits() {
    for gate in ["1%:10%", "2%:10%", "5%:20%", "5%:50%", "10%:30%", "30%:60%", "50%:90%"] {
        let gate: Gate = gate.parse().unwrap();
        for errors in ["5%,5%", "1%,10%", "10%,1%", "20%,20%"] {
            let errors: ErrorRates = errors.parse().unwrap();
            for cases in [1_u32, 10, 77] {
                let test = SequentialTest::new(gate, errors, cases, 2000);
                let (at_p0, at_p1) = (test.forecast(gate.p0()), test.forecast(gate.p1()));
                let all = at_p0.holds + at_p0.fails + at_p0.undecided;
                assert!((all - 1.0).abs() < 1e-9, "{gate} {errors}: {all}");
                let alpha = errors.alpha() / (1.0 - errors.beta()) / f64::from(cases);
                assert!(at_p0.fails <= alpha, "{gate} {errors} of {cases}: {}", at_p0.fails);
                let beta = errors.beta() / (1.0 - errors.alpha());
                assert!(at_p1.holds <= beta, "{gate} {errors} of {cases}: {}", at_p1.holds);
            }
        }
    }
}

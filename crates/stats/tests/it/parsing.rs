//! Gates, error rates and claims as users write them.

use proptest::prelude::*;
use sortie_stats::{Claim, CriterionError, ErrorRates, Gate};

#[test]
fn percentages_and_fractions_are_the_same_rates() {
    for text in ["5%:20%", "0.05:0.2", " 5% : 20 % ", "5.0%:.2", "05%:0.20"] {
        assert_eq!(text.parse::<Gate>().unwrap(), Gate::new(0.05, 0.2).unwrap(), "{text}");
    }
    assert_eq!("1%,0.1".parse::<ErrorRates>().unwrap(), ErrorRates::new(0.01, 0.1).unwrap());
    assert_eq!("rate < 2.5%".parse::<Claim>().unwrap(), Claim::new(0.025).unwrap());
}

#[test]
fn errors_say_what_is_wrong_and_what_to_write() {
    let gate = |text: &str| text.parse::<Gate>().unwrap_err();
    for (text, message) in [
        ("", "`` is not of the form `5%:20%`"),
        ("5%", "`5%` is not of the form `5%:20%`"),
        ("5%:20%:30%", "`5%:20%:30%` is not of the form `5%:20%`"),
        ("5%:", "`` is not a rate: write `5%` or `0.05`"),
        ("5%:many", "`many` is not a rate: write `5%` or `0.05`"),
        ("5%:-20%", "`-20%` is not a rate: write `5%` or `0.05`"),
        ("5%:nan", "`nan` is not a rate: write `5%` or `0.05`"),
        ("5%:inf", "`inf` is not a rate: write `5%` or `0.05`"),
        ("5:20", "`5` is more than 1: write `5%` for a percentage"),
        ("0:20%", "the rate 0% is not between 0 and 1, both excluded"),
        ("5%:100%", "the rate 100% is not between 0 and 1, both excluded"),
        ("20%:5%", "the first rate of a gate must be below the second, and 20% is not below 5%"),
        ("5%:5%", "the first rate of a gate must be below the second, and 5% is not below 5%"),
    ] {
        assert_eq!(gate(text).to_string(), message);
    }
    assert!(matches!("5%;5%".parse::<ErrorRates>(), Err(CriterionError::Shape { expected: "5%,5%", .. })));
    assert_eq!(
        "5%,50%".parse::<ErrorRates>().unwrap_err().to_string(),
        "the error rate 50% is not between 0 and 50%, both excluded"
    );
    for text in ["", "rate", "asr<5%", "rate<=5%", "rate<5%<6%", "5%>rate", "rate<5", "rate<0%"] {
        text.parse::<Claim>().unwrap_err();
    }
    Gate::new(f64::NAN, 0.5).unwrap_err();
    ErrorRates::new(0.05, f64::INFINITY).unwrap_err();
    Claim::new(-0.0).unwrap_err();
}

#[test]
fn reports_hold_them_as_text() {
    let gate: Gate = "5%:20%".parse().unwrap();
    assert_eq!(serde_json::to_string(&gate).unwrap(), r#""5%:20%""#);
    assert_eq!(serde_json::from_str::<Gate>(r#""0.05:0.2""#).unwrap(), gate);
    let error = serde_json::from_str::<Gate>(r#""20%:5%""#).unwrap_err();
    assert!(error.to_string().contains("must be below the second"), "{error}");
}

#[test]
fn levels_that_cannot_be_reached_do_not_overflow() {
    let claim: Claim = "rate<5%".parse().unwrap();
    assert_eq!(claim.clean_runs(1.0), u32::MAX);
    assert_eq!(claim.clean_runs(f64::NAN), u32::MAX);
    assert_eq!(claim.clean_runs(2.0), u32::MAX);
    assert_eq!(claim.clean_runs(0.0), 1);
    assert_eq!(Claim::new(1e-300).unwrap().clean_runs(0.95), u32::MAX);
    // 0.3 to the power of 2 is 0.09: the rounding of 1 − 0.91 costs no run.
    assert_eq!(Claim::new(0.7).unwrap().clean_runs(0.91), 2);
    assert_eq!(Claim::new(0.99).unwrap().clean_runs(0.9999), 2);
}

/// Texts that look like what is parsed, broken somewhere.
fn nearly() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9.%:,<rate +\\-eEinfNa\u{0}é٣]{0,24}",
        "(rate ?<)?[0-9]{0,400}\\.?[0-9]{0,400}%?[:,]?[0-9]{0,30}%?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_text_makes_a_parser_panic_and_what_is_accepted_reads_back(text in nearly()) {
        if let Ok(gate) = text.parse::<Gate>() {
            prop_assert_eq!(gate.to_string().parse::<Gate>(), Ok(gate));
        }
        if let Ok(errors) = text.parse::<ErrorRates>() {
            prop_assert_eq!(errors.to_string().parse::<ErrorRates>(), Ok(errors));
        }
        if let Ok(claim) = text.parse::<Claim>() {
            prop_assert_eq!(claim.to_string().parse::<Claim>(), Ok(claim));
            claim.clean_runs(0.95);
        }
    }

    #[test]
    fn every_gate_reads_back_as_itself(a in 0.0..1.0_f64, b in 0.0..1.0_f64) {
        if let Ok(gate) = Gate::new(a.min(b), a.max(b)) {
            prop_assert_eq!(gate.to_string().parse::<Gate>(), Ok(gate));
        }
    }

    #[test]
    fn percentages_are_printed_as_written(a in 1..50_u32, b in 50..100_u32, digits in 1..100_000_u32) {
        let text = format!("{a}%:{b}.{digits:05}1%");
        prop_assert_eq!(text.parse::<Gate>().unwrap().to_string(), text);
    }

    #[test]
    fn error_rates_and_claims_read_back_as_themselves(a in 1e-300..0.5_f64, b in 1e-12..0.5_f64) {
        let errors = ErrorRates::new(a, b).unwrap();
        prop_assert_eq!(errors.to_string().parse::<ErrorRates>(), Ok(errors));
        let claim = Claim::new(a).unwrap();
        prop_assert_eq!(claim.to_string().parse::<Claim>(), Ok(claim));
    }
}

//! What JavaScript finds, and what the translated pattern finds. `javascript.mjs` has recorded the first.

use serde_json::Value;
use sortie_atr::{PatternErrorKind, translate};
use sortie_expr::re2::Regex;

fn recorded() -> Value {
    serde_json::from_str(include_str!("javascript.json")).unwrap()
}

#[test]
fn a_translated_pattern_finds_what_javascript_finds() {
    let recorded = recorded();
    let texts: Vec<&str> =
        recorded["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let mut compared = 0;
    for record in recorded["patterns"].as_array().unwrap() {
        let pattern = record["pattern"].as_str().unwrap();
        let found: Vec<usize> = record["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| usize::try_from(at.as_u64().unwrap()).unwrap())
            .collect();
        let translated = translate(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let regex = Regex::new(&translated).unwrap();
        for (at, text) in texts.iter().enumerate() {
            let expected = found.contains(&at);
            assert_eq!(regex.is_match(text), expected, "`{pattern}` as `{translated}` in {text:?}");
            compared += 1;
        }
    }
    assert!(compared > 50_000, "{compared}");
}

#[test]
fn what_re2_cannot_do_is_refused_with_its_place() {
    use PatternErrorKind::{BackReference, HalfCharacter, Invalid, LookAround, TooLarge};
    for (pattern, kind, span) in [
        (r"(?i)(a)\1", BackReference, r"\1"),
        (r"(?<n>a)\k<n>", BackReference, r"\k"),
        (r"^(?:(?!ab)[^c])*d$", LookAround, "(?!"),
        (r"x(?=a)*y", LookAround, "(?=a)*"),
        ("[😀a]b", HalfCharacter, "😀"),
        ("😀+", HalfCharacter, "😀+"),
        (r"\uD83D.", HalfCharacter, r"\uD83D"),
        ("a)", Invalid, ")"),
        ("(a", Invalid, "(a"),
        ("a**", Invalid, "*"),
        ("^*", Invalid, "^*"),
        ("[b-a]", Invalid, "b-a"),
        ("a{3,2}", Invalid, "{3,2}"),
        (r"\u{1F600}\-", Invalid, r"\-"),
        ("(?i:a)", Invalid, "("),
        ("a\\", Invalid, "\\"),
    ] {
        let error = translate(pattern).expect_err(pattern);
        assert_eq!(error.kind, kind, "{pattern}: {error}");
        assert_eq!(&pattern[error.span], span, "{pattern}");
    }
    let long = "a".repeat(40_000);
    let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
    for pattern in [long.as_str(), &deep, "(?:a{900}){900}", "[\\s\\S]{90000}"] {
        assert_eq!(translate(pattern).expect_err("too large").kind, TooLarge, "{pattern:.20}");
    }
}

#[test]
fn patterns_stay_readable() {
    for (pattern, expected) in [
        (r"(?i)ignore\s+all", r"(?i)ignore[\s\v\pZ\x{FEFF}]+all"),
        (r"[\s\S]{0,40}x", r"(?i)(?s:.){0,40}x"),
        (r"a{0,2500}", r"(?i)a{0,1000}a{0,1000}a{0,500}"),
        (r"a{1500,}", r"(?i)a{1000}a{500,}"),
        (r"(a|b)+c|d", r"(?i)(?:a|b)+c|d"),
        ("a\u{200b}[\u{200b}-\u{200f}]", r"(?i)a\x{200B}[\x{200B}-\x{200F}]"),
        (r"[^\]\\\-^]", r"(?i)[^\]\\\-\^]"),
        (r"foo(?![a-z])", r"(?i)foo(?:$|[^A-Za-z])"),
        (r"(?<!\w)run", r"(?i)(?:^|[^0-9A-Z_a-z])run"),
        (r"run(?=\s)", r"(?i)run[\s\v\pZ\x{FEFF}]"),
        (r"id(?!\.p)", r"(?i)id(?:$|[^.]|[.](?:$|[^Pp]))"),
    ] {
        assert_eq!(translate(pattern).unwrap(), expected, "{pattern}");
    }
}

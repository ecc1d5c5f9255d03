//! Whatever is said, however it is escaped: the secret is gone, and nothing else is.

use std::time::SystemTime;

use proptest::prelude::*;
use serde_json::Value;
use sortie_trace::{Header, RedactRule, Redactor};

/// No letter of it occurs in anything else here, so that every secret is one that was put there.
const SECRET: &str = "Kö\"🦀Q7";
const REDACTED: &str = "[redacted]";

/// A JSON text, and what is to become of it.
type Pair = (String, String);

/// One character of a string: as it is, or one of its escapes.
fn letter(letter: char, style: u8) -> String {
    let must_escape = letter == '"' || letter == '\\' || letter < ' ';
    match style {
        0 | 1 if !must_escape => letter.to_string(),
        2 if matches!(letter, '"' | '\\' | '/') => format!("\\{letter}"),
        3 => units(letter).to_uppercase().replace("\\U", "\\u"),
        _ => units(letter),
    }
}

fn units(letter: char) -> String {
    letter.encode_utf16(&mut [0; 2]).iter().fold(String::new(), |out, unit| format!("{out}\\u{unit:04x}"))
}

fn letters(text: String) -> impl Strategy<Value = String> {
    let count = text.chars().count();
    prop::collection::vec(0u8..5, count)
        .prop_map(move |styles| text.chars().zip(styles).map(|(char, style)| letter(char, style)).collect())
}

/// Part of a string: harmless, also where it is half a character, or the secret.
fn part() -> impl Strategy<Value = Pair> {
    let harmless = "[a-e \\\\/\\n\u{e9}\u{1f980}\\[\\]]{0,6}".prop_flat_map(letters);
    prop_oneof![
        4 => harmless.prop_map(|text| (text.clone(), text)),
        1 => Just(("\\ud800".to_owned(), "\\ud800".to_owned())),
        2 => letters(SECRET.to_owned()).prop_map(|text| (text, REDACTED.to_owned())),
    ]
}

fn string() -> impl Strategy<Value = Pair> {
    prop::collection::vec(part(), 0..4).prop_map(|parts| {
        // Half a character before an escape could be taken for a whole one.
        let join = |side: fn(&Pair) -> &String| parts.iter().map(side).cloned().collect::<Vec<_>>().join("-");
        (format!("\"{}\"", join(|pair| &pair.0)), format!("\"{}\"", join(|pair| &pair.1)))
    })
}

fn json() -> impl Strategy<Value = Pair> {
    let same = |text: &str| (text.to_owned(), text.to_owned());
    let scalar = prop_oneof![
        string(),
        prop::sample::select(vec!["1.00", "-0", "1e999", "12345678901234567890123", "true", "null"])
            .prop_map(same),
    ];
    scalar.prop_recursive(5, 40, 4, |inner| {
        let space = || prop::sample::select(vec!["", " ", "\n\t", "  "]);
        let list = prop::collection::vec((inner.clone(), space()), 0..4).prop_map(|items| {
            let join = |side: fn(&Pair) -> &String| {
                items
                    .iter()
                    .map(|(pair, space)| format!("{space}{}{space}", side(pair)))
                    .collect::<Vec<_>>()
                    .join(",")
            };
            (format!("[{}]", join(|pair| &pair.0)), format!("[{}]", join(|pair| &pair.1)))
        });
        let member = (string(), inner, space());
        let object = prop::collection::vec(member, 0..4).prop_map(|members| {
            let join = |side: fn(&Pair) -> &String| {
                let members = members.iter();
                let members =
                    members.map(|(key, value, space)| format!("{space}{}{space}:{}", side(key), side(value)));
                members.collect::<Vec<_>>().join(",")
            };
            (format!("{{{}}}", join(|pair| &pair.0)), format!("{{{}}}", join(|pair| &pair.1)))
        });
        prop_oneof![list, object]
    })
}

/// Every string of a value, keys included.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| std::iter::once(key.as_str()).chain(strings(value)))
            .collect(),
        _ => Vec::new(),
    }
}

/// What a forgiving reader makes of a text that has escapes in it.
fn loosely_decoded(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let escaped = rest.strip_prefix("\\u").and_then(|rest| u16::from_str_radix(rest.get(..4)?, 16).ok());
        let length = match escaped {
            Some(unit) => {
                units.push(unit);
                6
            }
            None if rest.starts_with("\\\"") => 1,
            None => {
                units.extend(letter.encode_utf16(&mut [0; 2]).iter());
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    String::from_utf16_lossy(&units)
}

fn redactor() -> Redactor {
    Redactor::new([RedactRule::Literal(SECRET.into())]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_secret_is_taken_out_and_the_rest_stays_to_the_byte((text, expected) in json()) {
        let redacted = redactor().json(&text).into_owned();
        prop_assert_eq!(&redacted, &expected);
        prop_assert_eq!(redactor().json(&redacted), redacted.as_str());
    }

    #[test]
    fn no_string_of_the_result_says_the_secret((text, _) in json()) {
        // What no value can hold is in the way of looking at the rest.
        let text = text.replace("\\ud800", "x").replace("1e999", "1");
        let redacted = redactor().json(&text).into_owned();
        let value: Value = serde_json::from_str(&redacted).expect("it stays JSON");
        for said in strings(&value) {
            prop_assert!(!said.contains(SECRET), "{}", said);
        }
    }

    #[test]
    fn bytes_that_are_no_json_do_not_keep_it_either((text, _) in json(), cut in 0usize..200) {
        let cut = text.floor_char_boundary(cut.min(text.len()));
        let redacted = redactor().json(&text[..cut]).into_owned();
        prop_assert!(!redacted.contains(SECRET), "{}", redacted);
        prop_assert!(!loosely_decoded(&redacted).contains(SECRET), "{}", redacted);
    }

    #[test]
    fn a_redactor_without_rules_changes_nothing((text, _) in json()) {
        prop_assert_eq!(Redactor::default().json(&text), text.as_str());
    }

    #[test]
    fn a_named_field_is_gone_whatever_it_holds((text, _) in json(), key in letters("PassWort".into())) {
        let redactor = Redactor::new([RedactRule::Field("passwort".into())]).unwrap();
        let around = |value: &str| format!("{{\"a\":[1.0],\"{key}\":{value},\"z\":[{{\"{key}\": {value} }}]}}");
        let text = around(&text);
        prop_assert_eq!(redactor.json(&text), around("\"[redacted]\""));
    }
}

/// Otherwise an indicator would look for `[redacted]`, and find it in whatever else was redacted.
#[test]
fn a_canary_that_would_be_redacted_is_left_out_of_the_header() {
    let mut header = Header::run("x", SystemTime::UNIX_EPOCH);
    header.canaries = [("note", "canary-1"), ("mail", "canary-2")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let redactor = Redactor::new([RedactRule::Literal("canary-1".to_owned())]).unwrap();
    redactor.redact_header(&mut header);
    assert_eq!(header.canaries.keys().collect::<Vec<_>>(), ["mail"]);
}

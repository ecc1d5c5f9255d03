//! The compiled evaluator against a plain one, on random conditions, indicators and messages.
//!
//! `SORTIE_PAIRS` sets how many pairs of each kind are tried (20,000 unless it is set; a million is the long
//! run), `SORTIE_SEED` where the random numbers start. A difference prints the pair and its seed.

use crate::plain;
use serde_json::{Map, Value, json};
use sortie_oatf::compile::{CompiledCondition, CompiledPredicate};
use sortie_oatf::model::{Condition, ExpressionMatch, Indicator, MatchPredicate, PatternMatch};
use sortie_oatf::{CompiledIndicator, Evaluators, IndicatorOutcome};

/// A small generator of random numbers (xorshift64*): the same everywhere, from a seed that can be printed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % limit
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
        Err(_) => default,
    }
}

fn each_pair(mut check: impl FnMut(&mut Random)) {
    let pairs = setting("SORTIE_PAIRS", 20_000);
    let mut seed = setting("SORTIE_SEED", 0x5EED);
    for _ in 0..pairs {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15).max(1);
        let mut random = Random(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&mut random)));
        if let Err(panic) = outcome {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

const KEYS: &[&str] = &["a", "b", "c-d", "e_1", "0"];
const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "abc",
    "ba",
    "é",
    "日本",
    "a\nb",
    "\"",
    "{\"a\":1}",
    "[",
    "true",
    "null",
    "42",
    "A",
    "\u{200b}a",
    "aaaa",
    "x.y",
    "\\",
    "\t",
];
const PATTERNS: &[&str] = &[
    "a", "^a", "a$", "^$", "a+b", "[ab]", "(?i)A", "\\d+", "\"a\":", "^\\{", "é", ".", "(a|b)c", "\\bab\\b",
    "^true$", "x\\.y", "(?s)a.b", "a{2,3}", "\\s", "[^a]",
];

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => Value::Null,
        1 => Value::Bool(random.one_in(2)),
        2 => plain::number(random.below(plain::NUMBERS.len())),
        3 => json!(random.pick(TEXTS)),
        4 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let fields =
                (0..random.below(5)).map(|_| ((*random.pick(KEYS)).to_owned(), value(random, depth - 1)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

fn condition(random: &mut Random) -> Value {
    if random.one_in(4) {
        let operand = value(random, 2);
        // An object with operator keys, or without any, would not be a bare value.
        return if operand.as_object().is_some_and(Map::is_empty) { Value::Null } else { operand };
    }
    let mut operators = Map::new();
    for _ in 0..=random.below(2) {
        let operator = random.pick(&[
            "contains",
            "starts_with",
            "ends_with",
            "regex",
            "any_of",
            "gt",
            "lt",
            "gte",
            "lte",
            "exists",
        ]);
        let operand = match operator {
            "contains" | "starts_with" | "ends_with" => json!(random.pick(TEXTS)),
            "regex" => json!(random.pick(PATTERNS)),
            "any_of" => (0..=random.below(3)).map(|_| value(random, 1)).collect(),
            "exists" => Value::Bool(random.one_in(2)),
            _ => plain::number(random.below(plain::NUMBERS.len())),
        };
        operators.insert(operator.to_owned(), operand);
    }
    Value::Object(operators)
}

fn path(random: &mut Random, wildcards: bool) -> String {
    let segments = (0..random.below(4)).map(|_| {
        let fan_out = if wildcards && random.one_in(3) { "[*]" } else { "" };
        format!("{}{fan_out}", random.pick(KEYS))
    });
    segments.collect::<Vec<_>>().join(".")
}

fn compiled(condition: &Value) -> Condition {
    Condition::from_value(condition).unwrap_or_else(|error| panic!("{condition}: {error}"))
}

#[test]
fn conditions_agree() {
    let (mut matched, mut tried) = (0_u64, 0_u64);
    each_pair(|random| {
        let (condition, value) = (condition(random), value(random, 3));
        let fast = CompiledCondition::new(&compiled(&condition)).unwrap().matches(&value);
        let plain = plain::condition(&condition, &value);
        assert_eq!(fast, plain, "{condition} on {value}");
        tried += 1;
        matched += u64::from(plain);
    });
    assert!(
        matched * 20 > tried && matched * 20 < tried * 19,
        "{matched} of {tried} match: too one-sided to prove much"
    );
}

#[test]
fn predicates_agree() {
    each_pair(|random| {
        let entries: Vec<_> =
            (0..random.below(3)).map(|_| (path(random, false), condition(random))).collect();
        let value = value(random, 4);
        let predicate: MatchPredicate =
            entries.iter().map(|(path, condition)| (path.clone(), compiled(condition))).collect();
        let fast = CompiledPredicate::new(&predicate).unwrap().matches(&value);
        // A repeated path is one entry of a map: the last one counts.
        let plain = predicate.keys().all(|path| {
            let (_, condition) = entries.iter().rev().find(|(other, _)| other == path).unwrap();
            plain::predicate_entry(path, condition, &value)
        });
        assert_eq!(fast, plain, "{entries:?} on {value}");
    });
}

#[test]
fn pattern_indicators_agree_and_their_evidence_is_true() {
    let mut matched = 0_u64;
    each_pair(|random| {
        let (target, condition, message) = (path(random, true), condition(random), value(random, 4));
        let indicator = Indicator {
            target: target.clone(),
            pattern: Some(PatternMatch {
                target: None,
                condition: Some(compiled(&condition)),
                shorthand: None,
            }),
            ..Indicator::default()
        };
        let fast = CompiledIndicator::new(&indicator).unwrap();
        let outcome = fast.evaluate(&message, Evaluators::default());
        let plain = plain::pattern(&target, &condition, &message);
        let context = format!("{target:?} {condition} on {message}");
        assert_eq!(matches!(outcome, IndicatorOutcome::Matched(_)), plain, "{context}");
        assert_eq!(fast.is_match(&message, Evaluators::default()), Ok(plain), "{context}");
        if let IndicatorOutcome::Matched(evidence) = outcome {
            matched += 1;
            if evidence.excerpt.is_none() {
                assert_eq!(condition.get("exists"), Some(&json!(false)), "{context}");
            } else {
                let value = plain::at(&evidence.path, &message)
                    .unwrap_or_else(|| panic!("{context}: nothing at {}", evidence.path));
                assert!(
                    condition.get("exists").is_some() || plain::condition(&condition, value),
                    "{context}"
                );
                if let Some(range) = evidence.range {
                    assert!(plain::text(value).get(range).is_some(), "{context}");
                }
            }
        }
    });
    assert!(matched > 0);
}

/// Expressions whose meaning is plain enough to be written down twice.
#[test]
fn cel_indicators_agree() {
    each_pair(|random| {
        let message = json!({"a": value(random, 2), "b": value(random, 2)});
        let text = random.pick(TEXTS);
        let literal = serde_json::to_string(text).unwrap();
        let (cel, plain): (String, Option<bool>) = match random.below(5) {
            0 => (format!("message.a == {literal}"), Some(message["a"] == *text)),
            1 => (format!("message.a.contains({literal})"), message["a"].as_str().map(|a| a.contains(text))),
            2 => ("has(message.a.b)".to_owned(), message["a"].as_object().map(|a| a.contains_key("b"))),
            3 => (
                format!("message.b.exists(x, x == {literal})"),
                message["b"].as_array().map(|items| items.iter().any(|item| item == text)),
            ),
            _ => ("message.c == 1".to_owned(), None),
        };
        let indicator = Indicator {
            expression: Some(ExpressionMatch { cel: cel.clone(), variables: None }),
            ..Indicator::default()
        };
        let compiled = CompiledIndicator::new(&indicator).unwrap();
        let outcome = compiled.evaluate(&message, Evaluators::standard());
        match plain {
            Some(expected) => {
                assert_eq!(
                    matches!(outcome, IndicatorOutcome::Matched(_)),
                    expected,
                    "{cel} on {message}: {outcome:?}"
                );
                assert!(!matches!(outcome, IndicatorOutcome::Error(_)), "{cel} on {message}: {outcome:?}");
            }
            // `exists` over a map looks at its keys, which is not what the plain reading above says.
            None if cel.contains("exists") && message["b"].is_object() => {}
            None => assert!(matches!(outcome, IndicatorOutcome::Error(_)), "{cel} on {message}: {outcome:?}"),
        }
    });
}

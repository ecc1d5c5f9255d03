//! The JSON, and what is published about it.

use serde_json::{Value, json};

use crate::mixed;

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/run-v2.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    jsonschema::validator_for(&schema).expect("the schema is one")
}

fn problems(report: &Value) -> Vec<String> {
    validator().iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn report() -> Value {
    serde_json::to_value(mixed::report()).unwrap()
}

#[test]
fn documents_and_evaluators_stand_in_one_list_by_the_published_schema() {
    let report = report();
    let problems = problems(&report);
    assert!(problems.is_empty(), "{problems:#?}");
    let kinds = report["runs"].as_array().unwrap().iter().map(|run| run["kind"].as_str().unwrap());
    assert_eq!(kinds.filter(|kind| *kind == "evaluator").count(), 11);
    assert_eq!(report["runs"][3]["verdict"]["result"], "not_applicable");
}

#[test]
fn what_there_is_none_of_is_left_out() {
    let report = serde_json::to_value(sortie_report::Report::new([mixed::resisted()])).unwrap();
    assert_eq!(report.as_object().unwrap().keys().collect::<Vec<_>>(), ["version", "totals", "runs"]);
}

/// Every field that is there is asked for by the schema, or at least described by it: whatever is renamed is noticed.
#[test]
fn the_schema_notices_every_field_that_is_called_otherwise() {
    let report = report();
    let mut places = Vec::new();
    collect(&report, "", &mut places);
    assert!(places.len() > 400, "{}", places.len());
    let validator = validator();
    for (place, key) in places {
        let mut changed = report.clone();
        let map = changed.pointer_mut(&place).and_then(Value::as_object_mut).unwrap();
        let value = map.remove(&key).unwrap();
        map.insert(format!("{key}_"), value);
        assert!(!validator.is_valid(&changed), "{place}: `{key}` may be called anything");
    }
}

/// A case in which the client refused what the model asked for: the finding of one that was exploited, moved.
#[test]
fn what_was_attempted_stands_beside_the_verdict() {
    use sortie_detect::RefusedCall;
    use sortie_report::{Report, View, write_human, write_junit, write_markdown};

    let finding = mixed::exploited().verdict.indicator_verdicts.remove(0);
    let mut resisted = mixed::resisted();
    resisted.attempted = vec![RefusedCall {
        indicator_id: finding.indicator_id,
        refusal: "Permission to use it\nhas been \u{1b}[31mdenied.".to_owned(),
        r#match: finding.r#match.unwrap(),
        seen: finding.seen.unwrap(),
        excerpt: finding.excerpt,
    }];
    let report = Report::new([resisted, mixed::resisted()]);
    let json = serde_json::to_value(&report).unwrap();
    let problems = problems(&json);
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!((&json["totals"]["not_exploited"], &json["totals"]["attempted"]), (&json!(2), &json!(1)));
    let written = |write: fn(&mut dyn std::io::Write, &Report, View) -> std::io::Result<()>| {
        let mut text = Vec::new();
        write(&mut text, &report, View::default()).unwrap();
        String::from_utf8(text).unwrap()
    };
    let human = written(write_human);
    assert!(
        human.contains("attempted") && human.contains("the client refused: Permission to use it"),
        "{human}"
    );
    assert!(
        human.ends_with("2 cases: 2 not_exploited; 1 attempted, and refused by the agent's client\n"),
        "{human}"
    );
    for text in [human, written(write_junit), written(write_markdown)] {
        assert!(text.contains("1 attempted") || text.contains("the client refused"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

/// A case that was played several times, in a campaign with everything that one can have.
#[test]
fn rates_and_attempts_are_published_too() {
    use sortie_detect::rate::{Attempt, Rate};
    use sortie_report::baseline::{BaselineNote, BaselineState};
    use sortie_report::origin::{RepeatOrigin, RunOrigin};
    use sortie_stats::{Counts, ErrorRates, GateDecision, macro_average};

    let mut case = mixed::resisted();
    let counts = Counts::new(1, 20);
    case.attempt = Some(2);
    case.rate = Some(Rate::new(counts, 1, 0.95, Some(GateDecision::Holds)));
    case.attempts = vec![Attempt { failure: Some("agent_crashed".to_owned()), ..Attempt::of(&case) }];
    let id = case.id.clone();
    let average = macro_average(&[counts], 0.95).unwrap();
    let report = sortie_report::Report {
        rate: Some(sortie_report::SuiteRate { mean: average.rate, interval: average.interval, cases: 1 }),
        baseline: [(
            id,
            BaselineNote {
                state: BaselineState::Known,
                detail: Some("`accepted` in the baseline".to_owned()),
                reason: Some("accepted".to_owned()),
                expires: Some("2027-01-31".to_owned()),
            },
        )]
        .into(),
        run: Some(RunOrigin {
            evaluators: vec!["rubrics".to_owned()],
            fingerprint: "0123456789abcdef".to_owned(),
            repeats: Some(RepeatOrigin {
                most: 60,
                gate: Some("5%:20%".parse().unwrap()),
                claim: Some("rate<5%".parse().unwrap()),
                errors: ErrorRates::default(),
                max_undecided: 0.1,
                seed: 7,
                shard: Some("1/4".to_owned()),
            }),
            ..RunOrigin::default()
        }),
        ..sortie_report::Report::new([case])
    };
    let value = serde_json::to_value(&report).unwrap();
    let problems = problems(&value);
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(serde_json::from_value::<sortie_report::Report>(value.clone()).unwrap(), report);
    let mut places = Vec::new();
    collect(&value, "", &mut places);
    let validator = validator();
    for (place, key) in places.into_iter().filter(|(place, _)| place != "/baseline") {
        let mut changed = value.clone();
        let map = changed.pointer_mut(&place).and_then(Value::as_object_mut).unwrap();
        let taken = map.remove(&key).unwrap();
        map.insert(format!("{key}_"), taken);
        assert!(!validator.is_valid(&changed), "{place}: `{key}` may be called anything");
    }
}

/// Where keys are ours. What a tool is called with, and what it gives, is the target's.
fn collect(value: &Value, place: &str, places: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if !place.ends_with("/filled") {
                    places.push((place.to_owned(), key.clone()));
                }
                if !["arguments", "result", "server"].contains(&key.as_str()) || value.is_string() {
                    collect(value, &format!("{place}/{key}"), places);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{place}/{at}"), places);
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_wants_evidence_for_a_verdict() {
    let mut report = report();
    let cases = report["runs"].as_array().unwrap();
    let at = cases.iter().position(|run| run["id"] == "echo/repeat").unwrap();
    report["runs"][at]["evidence"] = json!([]);
    assert!(!problems(&report).is_empty());
    report["runs"][at]["verdict"]["result"] = json!("skipped");
    assert_eq!(problems(&report), Vec::<String>::new());
    report["runs"][at]["verdict"]["result"] = json!("passed");
    assert!(!problems(&report).is_empty());
}

#[test]
fn the_schema_knows_every_failure() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/run-v2.json")).unwrap();
    let known = schema["$defs"]["failure"]["properties"]["kind"]["enum"].as_array().unwrap();
    let mut known: Vec<&str> = known.iter().map(|word| word.as_str().unwrap()).collect();
    let mut words = sortie_detect::FailureKind::WORDS.to_vec();
    known.sort_unstable();
    words.sort_unstable();
    assert_eq!(known, words);
}

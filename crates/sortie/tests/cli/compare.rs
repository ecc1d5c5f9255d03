//! `sortie compare`, with runs of practice agents.

use std::fs;

use serde_json::Value;

use crate::baseline::Workplace;

fn json(place: &Workplace, a: &str, b: &str) -> (Option<i32>, Value) {
    let ended = place.sortie(&["compare", a, b, "--format", "json"]);
    let comparison =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    (ended.code, comparison)
}

#[test]
fn two_versions_of_an_agent_are_better_worse_the_same_or_undecided() {
    let place = Workplace::new();
    let cases = ["SRT-001", "SRT-002", "--repeat", "6", "--seed", "3"];
    place.play("refuser", "good", &cases);
    place.play("gullible", "bad", &cases);
    place.play("flaky --chance 0.2 --seed 2", "flaky", &cases);
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/compare-v1.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (a, b, code, result) in
        [("good", "bad", 1, "worse"), ("bad", "good", 0, "better"), ("good", "good", 0, "same")]
    {
        let (ended, comparison) = json(&place, a, b);
        assert_eq!((ended, &comparison["overall"]["result"]), (Some(code), &result.into()), "{a} {b}");
        assert_eq!(comparison["overall"]["test"], "stratified");
        assert_eq!(comparison["overall"][result], 2, "{comparison:#}");
        assert!(validator.is_valid(&comparison), "{comparison:#}");
    }
    let (code, comparison) = json(&place, "good", "flaky");
    let hits: u64 = (0..2).map(|at| comparison["cases"][at]["b"]["hits"].as_u64().unwrap()).sum();
    assert!((1..=4).contains(&hits), "another seed is needed: {comparison:#}");
    assert_eq!((code, &comparison["overall"]["worse"]), (Some(3), &0.into()), "{comparison:#}");
    let text = place.sortie(&["compare", "good", "flaky"]).stdout;
    assert!(text.contains("more runs of each would tell"), "{text}");
    assert!(text.starts_with("undecided: Over 2 cases, it is not shown that B differs from A"), "{text}");
}

#[test]
fn single_attempts_are_undecided_one_by_one_and_decided_together() {
    let place = Workplace::new();
    let cases = ["SRT-001", "SRT-002", "SRT-003", "SRT-004", "SRT-005", "SRT-006", "SRT-007"];
    place.play("refuser", "good", &cases);
    place.play("gullible", "bad", &cases);
    place.play("gullible", "part", &cases[..1]);
    let (code, comparison) = json(&place, "good", "bad");
    let overall = &comparison["overall"];
    assert_eq!(
        (code, &overall["test"], &overall["result"]),
        (Some(1), &"mcnemar".into(), &"worse".into()),
        "{overall:#}"
    );
    assert_eq!(overall["worse"], 0, "one attempt shows nothing about a case");
    let (code, comparison) = json(&place, "good", "part");
    assert_eq!((code, &comparison["overall"]["result"]), (Some(3), &"undecided".into()));
    assert_eq!(comparison["only_a"].as_array().unwrap().len(), cases.len() - 1);
    assert_eq!(comparison["cases"][0]["more_runs"], 2);
}

#[test]
fn a_changed_document_is_not_compared_and_a_file_is_written() {
    let place = Workplace::new();
    let text = fs::read_to_string(crate::fixtures().join("run/practice-rug.yaml")).unwrap();
    fs::write(place.path("attack.yaml"), &text).unwrap();
    place.play("refuser", "before", &["attack.yaml"]);
    let changed = text.replacen("\nattack:\n", "\nattack:\n  description: It is another one now.\n", 1);
    fs::write(place.path("attack.yaml"), changed).unwrap();
    place.play("gullible", "after", &["attack.yaml"]);
    let (code, comparison) = json(&place, "before", "after");
    assert_eq!((code, comparison["changed"].as_array().unwrap().len()), (Some(3), 1), "{comparison:#}");
    let ended = place.sortie(&["compare", "before", "before", "--format", "markdown", "--out", "page.md"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    let page = fs::read_to_string(place.path("page.md")).unwrap();
    assert!(page.starts_with("## Comparison of two runs: same\n"), "{page}");
    assert_eq!(place.sortie(&["compare", "before", "absent"]).code, Some(2));
}

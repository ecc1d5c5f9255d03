//! `sortie evaluators test`

use snapbox::str;

use super::{LEAK, LEAK_FIXTURES, alone, json, mine, repository, said};

#[test]
fn what_the_checks_decide_is_counted_and_the_rest_left_to_a_judge() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", LEAK_FIXTURES)]);
    alone(&folder, &["test"]).assert().code(0).stdout_eq(str![[r#"
note-leak   50 % decided  1 right, 1 left to a judge, 0 wrong

1 evaluator, 2 cases: 1 right, 1 left to a judge, 0 wrong
the checks decide 1 of 2 (50 %) without a judge, and are wrong on none of these

"#]]);
}

#[test]
fn a_check_that_is_wrong_is_shown_with_what_it_found() {
    let wrong = LEAK_FIXTURES
        .replace("I cannot say.", "{response: I will not say canary-1., variables: {canary: canary-1}}");
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", &wrong)]);
    alone(&folder, &["test"]).assert().code(1).stdout_eq(str![[r#"
note-leak  100 % decided  1 right, 1 wrong
  wrong: pass_case (mine/agent/note-leak.test.yaml:2)
    pass is expected, and `The canary came back` (mine/agent/note-leak.yaml:9) says fail
    answers[0]: I will not say canary-1.

1 evaluator, 2 cases: 1 right, 1 wrong
the checks decide 2 of 2 (100 %) without a judge, and are wrong on 1 of these

"#]]);
}

#[test]
fn a_promise_to_decide_is_kept_or_wrong() {
    let promises = LEAK.replace("checks:", "judge_needs_llm: false\nchecks:");
    let folder = mine(&[("agent/note-leak.yaml", &promises), ("agent/note-leak.test.yaml", LEAK_FIXTURES)]);
    let report = alone(&folder, &["test", "--format", "json"]).assert().code(1);
    let report: serde_json::Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    assert_eq!(report["evaluators"][0]["cases"][0]["says"], "undecided");
    assert_eq!(report["evaluators"][0]["cases"][0]["result"], "wrong");
}

#[test]
fn no_case_at_all_is_an_error() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK)]);
    for arguments in [&["test"][..], &["test", "note-leak"]] {
        let run = alone(&folder, arguments).assert().code(2);
        assert!(said(&run).contains("fixtures"), "{}", said(&run));
    }
}

#[test]
fn an_evaluator_without_fixtures_is_mentioned_among_others() {
    let folder = mine(&[
        ("agent/note-leak.yaml", LEAK),
        ("agent/note-leak.test.yaml", LEAK_FIXTURES),
        ("agent/bare.yaml", &LEAK.replace("note-leak", "bare")),
    ]);
    let run = alone(&folder, &["test"]).assert().code(0);
    let shown = super::shown(&run);
    assert!(shown.contains("1 evaluator has no fixtures, so nothing is known about their checks"), "{shown}");
}

#[test]
fn the_report_is_as_its_schema_says() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("agent/note-leak.test.yaml", LEAK_FIXTURES)]);
    let report = json(alone(&folder, &["test", "--format", "json"]));
    let schema = std::fs::read(repository().join("docs/schema/evaluators-test-v1.json")).unwrap();
    jsonschema::validate(&serde_json::from_slice(&schema).unwrap(), &report).expect("as the schema says");
}

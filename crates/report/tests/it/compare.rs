//! Two runs of the same cases.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use sortie_detect::rate::Rate;
use sortie_detect::{CaseResult, Outcome, Standing};
use sortie_report::Report;
use sortie_report::compare::{
    CaseChange, ComparedResult, ComparedRun, Comparison, OverallTest, write_comparison,
    write_comparison_markdown,
};
use sortie_report::origin::{RunOrigin, StartedAgent};
use sortie_report::write_json;
use sortie_stats::Counts;

use crate::mixed::case;

fn once(id: &str, result: CaseResult) -> Outcome {
    case(id, result, "because")
}

fn several(id: &str, hits: u32, n: u32) -> Outcome {
    let result = if hits > 0 { CaseResult::Exploited } else { CaseResult::NotExploited };
    Outcome { rate: Some(Rate::new(Counts::new(hits, n), 0, 0.95, None)), ..once(id, result) }
}

fn report(command: &str, runs: impl IntoIterator<Item = Outcome>) -> Report {
    let agent = Some(StartedAgent { command: command.to_owned(), ..StartedAgent::default() });
    let run = RunOrigin { agent, started: "2027-03-01T10:00:00Z".to_owned(), ..RunOrigin::default() };
    Report { run: Some(run), ..Report::new(runs) }
}

fn compare(a: &Report, b: &Report) -> Comparison {
    let digests = BTreeMap::new();
    Comparison::of(
        ComparedRun { name: "runs/a", report: a, digests: &digests },
        ComparedRun { name: "runs/b", report: b, digests: &digests },
    )
}

fn of(a: impl IntoIterator<Item = Outcome>, b: impl IntoIterator<Item = Outcome>) -> Comparison {
    compare(&report("builtin:flaky:0.1", a), &report("builtin:flaky:0.6", b))
}

/// The same cases, given by their hits in A and in B, each of so many attempts.
fn counted(n: u32, hits: &[(u32, u32)]) -> Comparison {
    let side = |take: fn(&(u32, u32)) -> u32| {
        let runs =
            hits.iter().enumerate().map(move |(at, both)| several(&format!("case/{at:03}"), take(both), n));
        runs.collect::<Vec<_>>()
    };
    of(side(|both| both.0), side(|both| both.1))
}

fn found<'c>(comparison: &'c Comparison, id: &str) -> &'c CaseChange {
    comparison.cases.iter().find(|case| case.id == id).unwrap()
}

fn human(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    write_comparison(&mut text, comparison, false).unwrap();
    String::from_utf8(text).unwrap()
}

fn markdown(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    write_comparison_markdown(&mut text, comparison).unwrap();
    String::from_utf8(text).unwrap()
}

/// One of everything. It takes a while without optimisation, so it is made once.
fn mixed() -> Comparison {
    static MIXED: LazyLock<Comparison> = LazyLock::new(make_mixed);
    MIXED.clone()
}

fn make_mixed() -> Comparison {
    let a = [
        several("better/x", 15, 20),
        several("worse/x", 1, 20),
        several("same/x", 0, 20),
        several("maybe/x", 2, 20),
        several("hardly/x", 10, 20),
        several("removed/x", 0, 20),
        once("not/x", CaseResult::NotApplicable),
        once("broken/x", CaseResult::Error),
        once("moved/x", CaseResult::NotExploited),
    ];
    let b = [
        several("added/x", 1, 20),
        several("worse/x", 14, 20),
        several("same/x", 0, 20),
        several("maybe/x", 5, 20),
        several("hardly/x", 11, 20),
        several("better/x", 2, 20),
        once("not/x", CaseResult::NotApplicable),
        several("broken/x", 1, 20),
        once("moved/x", CaseResult::Exploited),
    ];
    let mut b = report("builtin:flaky:0.6", b);
    let mut a = report("builtin:flaky:0.1", a);
    a.runs.push(several("cut/x", 0, 20));
    b.unfinished.push("cut/x".to_owned());
    let digest = |text: &str| BTreeMap::from([("moved/x".to_owned(), text.to_owned())]);
    Comparison::of(
        ComparedRun { name: "runs/a", report: &a, digests: &digest("one") },
        ComparedRun { name: "runs/b", report: &b, digests: &digest("other") },
    )
}

#[test]
fn each_case_is_better_worse_the_same_or_undecided() {
    let comparison = mixed();
    for (id, expected) in [
        ("worse/x", ComparedResult::Worse),
        ("better/x", ComparedResult::Better),
        ("same/x", ComparedResult::Same),
        ("maybe/x", ComparedResult::Undecided),
        ("hardly/x", ComparedResult::Undecided),
        ("broken/x", ComparedResult::Undecided),
        ("cut/x", ComparedResult::Undecided),
    ] {
        assert_eq!(found(&comparison, id).result, expected, "{id}");
    }
    assert_eq!(comparison.cases.len(), 7);
    assert_eq!(comparison.only_a, ["removed/x"]);
    assert_eq!(comparison.only_b, ["added/x"]);
    assert_eq!(comparison.changed, ["moved/x"], "it is another document by now");
    assert_eq!(comparison.not_applicable, ["not/x"]);
    assert_eq!(comparison.overall.cases, 5, "two were decided in one run only");
    assert_eq!(comparison.standing(), Standing::Exploited);
}

#[test]
fn people_see_what_got_worse_first_and_what_would_tell() {
    let text = human(&mixed());
    snapbox::assert_data_eq!(text, snapbox::file!["../golden/compare.txt"].raw());
}

#[test]
fn pull_requests_get_a_table() {
    let text = markdown(&mixed());
    snapbox::assert_data_eq!(text, snapbox::file!["../golden/compare.md"].raw());
}

#[test]
fn single_attempts_show_no_case_and_may_show_the_agent() {
    let side = |result| (0..10).map(move |at| once(&format!("case/{at}"), result)).collect::<Vec<_>>();
    let comparison = of(side(CaseResult::NotExploited), side(CaseResult::Exploited));
    assert_eq!(comparison.overall.test, OverallTest::McNemar);
    assert!((comparison.overall.p_different - 2.0 / 1024.0).abs() < 1e-12);
    assert_eq!(comparison.overall.result, ComparedResult::Worse);
    assert_eq!((comparison.overall.worse, comparison.overall.undecided), (0, 10));
    assert_eq!(comparison.standing(), Standing::Exploited);
    let back = of(side(CaseResult::Exploited), side(CaseResult::NotExploited));
    assert_eq!(back.overall.result, ComparedResult::Better);
    assert_eq!(back.standing(), Standing::Undecided);
    let case = &comparison.cases[0];
    assert!(case.more_runs.is_some_and(|runs| (2..12).contains(&runs)), "{case:?}");
    // One flip of one attempt shows nothing.
    let flip = of([once("case/0", CaseResult::NotExploited)], [once("case/0", CaseResult::Exploited)]);
    assert_eq!(flip.overall.result, ComparedResult::Undecided);
    assert_eq!((flip.cases[0].runs_needed, flip.cases[0].more_runs), (Some(3), Some(2)));
    assert_eq!(flip.standing(), Standing::Undecided);
}

#[test]
fn many_small_changes_together_are_one_that_is_shown() {
    let comparison = counted(5, &[(0, 2); 6]);
    assert_eq!(comparison.overall.test, OverallTest::Stratified);
    assert_eq!(comparison.overall.result, ComparedResult::Worse);
    assert_eq!(comparison.overall.worse, 0, "no case alone shows it");
    assert!(comparison.overall.sentence.starts_with("Over 6 cases, B is exploited more often than A"));
}

#[test]
fn the_more_cases_there_are_the_more_each_has_to_show() {
    assert_eq!(counted(20, &[(2, 9)]).overall.worse, 1);
    let mut many = vec![(2, 9)];
    many.extend([(2, 2); 76]);
    assert_eq!(counted(20, &many).overall.worse, 0);
}

#[test]
fn a_run_compared_with_itself_is_the_same() {
    let comparison = counted(20, &[(0, 0), (3, 3), (20, 20)]);
    assert_eq!(comparison.overall.result, ComparedResult::Same);
    assert_eq!(comparison.overall.same, 3);
    assert_eq!(comparison.standing(), Standing::Resisted);
}

#[test]
fn runs_without_a_common_case_are_undecided() {
    let comparison = of([several("a/x", 0, 20)], [several("b/x", 20, 20)]);
    assert_eq!(comparison.overall.result, ComparedResult::Undecided);
    assert_eq!(comparison.standing(), Standing::Undecided);
    assert!(human(&comparison).contains("nothing can be compared"));
    let undecided = of([once("a/x", CaseResult::Error)], [once("a/x", CaseResult::Error)]);
    assert_eq!((undecided.standing(), undecided.overall.cases), (Standing::Undecided, 0));
}

#[test]
fn the_published_schema_describes_every_field() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/compare-v1.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut written = Vec::new();
    write_json(&mut written, &mixed()).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    let problems: Vec<_> = validator.iter_errors(&written).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(serde_json::from_value::<Comparison>(written.clone()).unwrap(), mixed());
    for place in ["", "/a", "/overall", "/cases/0", "/cases/0/a"] {
        let keys: Vec<String> =
            written.pointer(place).unwrap().as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut changed = written.clone();
            let map = changed.pointer_mut(place).unwrap().as_object_mut().unwrap();
            let value = map.remove(&key).unwrap();
            map.insert(format!("{key}_"), value);
            assert!(!validator.is_valid(&changed), "{place}: `{key}` may be called anything");
        }
    }
}

#[test]
fn text_of_strangers_is_shown_and_never_obeyed() {
    let id = "e/\u{202e}|\\|`x` <img src=x> @all [x](https://e.example)\n# \u{1b}[31m";
    let (a, b) = (report(id, [several(id, 0, 20)]), report(id, [several(id, 20, 20)]));
    let comparison = compare(&a, &b);
    let human = human(&comparison);
    assert!(human.contains("e/\u{fffd}|\\|`x` <img src=x> @all [x](https://e.example)␊# ␛[31m"), "{human}");
    let only = markdown(&of([several(id, 0, 20)], []));
    for text in [human, markdown(&comparison), only] {
        assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
        assert!(
            text.lines().all(|line| !line.starts_with('#') || line.starts_with("## Comparison")),
            "{text}"
        );
    }
    let table = markdown(&comparison);
    let row = table.lines().find(|line| line.contains("**worse**")).unwrap();
    // As GitHub reads a row: a backslash takes the punctuation after it along, and a bar is the end of a cell.
    let (mut bars, mut letters) = (0, row.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek().is_some_and(char::is_ascii_punctuation) => drop(letters.next()),
            '|' => bars += 1,
            _ => {}
        }
    }
    assert_eq!(bars, 6, "{row}");
}

/// A thousand cases of twenty attempts: the tests are those of the counts that differ, of which there are few.
#[test]
fn a_large_campaign_is_compared_in_reasonable_time() {
    let hits: Vec<_> = (0..1000_u32).map(|at| (at % 3, (at / 7) % 3)).collect();
    let started = std::time::Instant::now();
    let comparison = counted(20, &hits);
    assert_eq!(comparison.cases.len(), 1000);
    assert!(started.elapsed() < std::time::Duration::from_mins(1), "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Exchanging the runs exchanges better and worse, and nothing else.
    #[test]
    fn the_comparison_is_the_same_seen_from_both_sides(hits in vec((0u32..=6, 0u32..=6), 1..5)) {
        let back: Vec<_> = hits.iter().map(|(a, b)| (*b, *a)).collect();
        let (one, other) = (counted(6, &hits), counted(6, &back));
        prop_assert_eq!((one.overall.worse, one.overall.better), (other.overall.better, other.overall.worse));
        prop_assert_eq!((one.overall.same, one.overall.undecided), (other.overall.same, other.overall.undecided));
        prop_assert!((one.overall.p_different - other.overall.p_different).abs() < 1e-9);
        for (case, back) in one.cases.iter().zip(&other.cases) {
            prop_assert_eq!(case.runs_needed, back.runs_needed);
        }
    }
}

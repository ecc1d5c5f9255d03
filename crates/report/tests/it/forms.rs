//! A report for people and for CI.

use snapbox::{Data, assert_data_eq};
use sortie_detect::{CaseResult, Outcome};
use sortie_report::{Report, View, write_human, write_junit};

use crate::mixed;

type Writer = fn(&mut dyn std::io::Write, &Report, View) -> std::io::Result<()>;

fn written(writer: Writer, report: &Report, view: View) -> String {
    let mut text = Vec::new();
    writer(&mut text, report, view).unwrap();
    String::from_utf8(text).unwrap()
}

fn golden(name: &str) -> Data {
    Data::read_from(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), None)
        .raw()
}

#[test]
fn people_see_findings_first_then_what_is_not_known_then_what_was_tried() {
    assert_data_eq!(written(write_human, &mixed::report(), View::default()), golden("mixed.txt"));
}

#[test]
fn ci_sees_a_test_case_for_each_and_one_for_what_was_not_played() {
    let xml = written(write_junit, &mixed::report(), View::default());
    let parsed = roxmltree::Document::parse(&xml).expect("well-formed");
    let count = |name: &str| parsed.descendants().filter(|node| node.has_tag_name(name)).count();
    let suite = parsed.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    for (tag, attribute) in
        [("testcase", "tests"), ("failure", "failures"), ("error", "errors"), ("skipped", "skipped")]
    {
        assert_eq!(suite.attribute(attribute), Some(count(tag).to_string().as_str()), "{tag}");
    }
    // Skipped documents and cases are errors; those that do not apply are not.
    assert_eq!((count("testcase"), count("failure"), count("error"), count("skipped")), (16, 4, 4, 5));
    assert_data_eq!(xml, golden("mixed.xml"));
}

#[test]
fn ci_sees_rates_and_attempts_as_properties() {
    let xml = written(write_junit, &mixed::repeated(), View::default());
    let parsed = roxmltree::Document::parse(&xml).expect("well-formed");
    let case = parsed.descendants().find(|node| node.has_tag_name("testcase")).unwrap();
    let properties = case.children().find(|node| node.has_tag_name("properties")).expect("they come first");
    let value = |name: &str| {
        let one = properties.children().find(|node| node.attribute("name") == Some(name));
        one.and_then(|node| node.attribute("value")).unwrap_or_else(|| panic!("{name}: {xml}"))
    };
    assert_eq!((value("rate.hits"), value("rate.n"), value("rate.undecided")), ("3", "20", "1"));
    assert!(value("rate.exact").contains("Clopper-Pearson") && value("rate.anytime").contains("whenever"));
    let [exact, anytime] =
        ["exact", "anytime"].map(|one| value(&format!("rate.{one}.high")).parse::<f64>().unwrap());
    assert!(exact < anytime, "an interval that holds at every moment is wider");
    assert_eq!(value("rate.decision"), "undecided");
    assert_eq!(value("attempt.2"), "exploited, runs/7/trace.jsonl");
    assert_eq!(value("attempt.3"), "error (nobody_connected), runs/7/trace.jsonl");
    let without = parsed.descendants().filter(|node| node.has_tag_name("testcase")).skip(2);
    assert!(without.flat_map(|node| node.children()).all(|node| !node.has_tag_name("properties")));
}

#[test]
fn skipped_cases_are_skipped_where_that_is_allowed() {
    let view = View { allow_skipped: true, ..View::default() };
    let skipped: Outcome = mixed::case("leak/ask", CaseResult::Skipped, "there is no judge");
    let xml = written(write_junit, &Report::new([skipped.clone(), mixed::resisted()]), view);
    assert!(xml.contains(r#"tests="2" failures="0" errors="0" skipped="1""#), "{xml}");
    let alone = written(write_junit, &Report::new([skipped]), view);
    assert!(alone.contains("no case was decided") && alone.contains(r#"errors="1" skipped="1""#), "{alone}");
}

#[test]
fn a_run_in_which_nothing_applies_is_no_pass_for_ci() {
    let report = Report::new([mixed::unplayed()]);
    let xml = written(write_junit, &report, View { allow_skipped: true, ..View::default() });
    assert!(xml.contains(r#"<error type="undecided" message="no case was decided">"#), "{xml}");
}

#[test]
fn what_a_target_said_reaches_no_terminal_raw() {
    for text in [
        written(write_human, &mixed::report(), View::default()),
        written(write_junit, &mixed::report(), View::default()),
    ] {
        assert!(!text.contains('\u{1b}') && text.contains("␛[31m"), "{text}");
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let plain = written(write_human, &mixed::report(), View::default());
    let painted = written(write_human, &mixed::report(), View { color: true, ..View::default() });
    let mut without = String::new();
    let mut rest = painted.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        without.push_str(before);
        rest = after.split_once('m').expect("a colour").1;
    }
    without.push_str(rest);
    // Without colours, what matched is underlined in a line of its own.
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.trim().starts_with('^')).map(str::to_owned).collect()
    };
    assert_eq!(lines(&without), lines(&plain));
    assert!(painted.len() > plain.len());
}

//! `sortie eval`: what recorded runs mean, in every format, and what counts.

use serde_json::Value;
use snapbox::cmd::Command;
use snapbox::str;

use crate::{fixtures, golden, sortie_in, stdout};

/// The program among recorded runs.
fn eval(trace: &str) -> Command {
    sortie_in(fixtures().join("eval")).args(["eval", "--trace", trace])
}

/// What is recorded, the document, and the exit code. Each has a golden file in every format.
const STORIES: &[(&str, &str, i32)] = &[
    ("exploited", "rug_pull", 1),
    ("resisted", "rug_pull", 0),
    ("not_delivered", "rug_pull", 3),
    ("nobody_connected", "rug_pull", 3),
    ("cut_short", "rug_pull", 3),
    ("foreign", "rug_pull", 0),
    ("bind_failed", "rug_pull", 3),
    ("crashed", "rug_pull", 3),
    ("matched_then_crashed", "rug_pull", 1),
    ("other", "rug_pull", 3),
    ("half", "both", 1),
    ("resisted", "cel", 3),
    ("resisted", "semantic", 3),
    ("resisted", "mixed", 3),
    ("resisted", "declared", 0),
    ("listed_only", "declared", 3),
];

/// What a report has that is not in the published schema, or the other way round.
pub(crate) fn problems(report: &Value) -> Vec<String> {
    let schema = include_str!("../../../../docs/schema/run-v2.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_story_is_told_to_people() {
    for (trace, document, code) in STORIES {
        eval(&format!("{trace}.jsonl"))
            .arg(format!("{document}.yaml"))
            .assert()
            .code(*code)
            .stdout_eq(golden(&format!("eval/{trace}-{document}.txt")))
            .stderr_eq("");
    }
}

#[test]
fn every_story_is_told_to_machines_by_the_published_schema() {
    for (trace, document, code) in STORIES {
        let told = eval(&format!("{trace}.jsonl"))
            .args(["--format", "json", &format!("{document}.yaml")])
            .assert()
            .code(*code)
            .stdout_eq(golden(&format!("eval/{trace}-{document}.json")))
            .stderr_eq("");
        let report: Value = serde_json::from_slice(&told.get_output().stdout).unwrap();
        assert_eq!(problems(&report), Vec::<String>::new(), "{trace} {document}");
    }
}

#[test]
fn a_recording_can_come_from_a_pipe() {
    let told = eval("-")
        .args(["--format", "json", "rug_pull.yaml"])
        .stdin(snapbox::Data::read_from(&fixtures().join("eval/exploited.jsonl"), None))
        .assert()
        .code(1);
    let report: Value = serde_json::from_slice(&told.get_output().stdout).unwrap();
    assert_eq!(
        (&report["runs"][0]["verdict"]["result"], &report["runs"][0]["trace"]),
        (&"exploited".into(), &Value::Null)
    );
    eval("-").arg("-").assert().code(2).stderr_eq(str![[r#"
error: standard input cannot be the recording and a document

"#]]);
}

#[test]
fn every_story_is_told_to_ci() {
    for (trace, document, code) in STORIES {
        let told = eval(&format!("{trace}.jsonl"))
            .args(["--format", "junit", &format!("{document}.yaml")])
            .assert()
            .code(*code)
            .stdout_eq(golden(&format!("eval/{trace}-{document}.xml")))
            .stderr_eq("");
        let xml = String::from_utf8(told.get_output().stdout.clone()).unwrap();
        let xml = roxmltree::Document::parse(&xml).expect("well-formed");
        let case = xml.descendants().find(|node| node.has_tag_name("testcase")).expect("a case");
        let passed = !case.children().any(|node| node.has_tag_name("failure") || node.has_tag_name("error"));
        assert_eq!(passed, *code == 0, "{trace} {document}: what CI shows is what the exit code says");
    }
}

#[test]
fn several_documents_are_several_runs_and_the_worst_counts() {
    let told = eval("half.jsonl").args(["--format", "json", "rug_pull.yaml", "both.yaml", "declared.yaml"]);
    let report: Value = serde_json::from_str(&stdout(told)).unwrap();
    let results: Vec<_> =
        report["runs"].as_array().unwrap().iter().map(|run| &run["verdict"]["result"]).collect();
    assert_eq!(results, ["exploited", "partial", "exploited"]);
    eval("resisted.jsonl").args(["rug_pull.yaml", "both.yaml"]).assert().code(0);
    eval("resisted.jsonl").args(["rug_pull.yaml", "cel.yaml"]).assert().code(3);
    eval("exploited.jsonl").args(["semantic.yaml", "cel.yaml", "rug_pull.yaml"]).assert().code(1);
}

#[test]
fn what_is_skipped_may_be_allowed_as_long_as_something_is_decided() {
    let allowed = |documents: &[&str]| eval("resisted.jsonl").arg("--allow-skipped").args(documents).assert();
    allowed(&["mixed.yaml"]).code(0);
    allowed(&["rug_pull.yaml", "semantic.yaml"]).code(0);
    allowed(&["semantic.yaml"]).code(3);
    allowed(&["mixed.yaml", "cel.yaml"]).code(3);
    eval("nobody_connected.jsonl").args(["--allow-skipped", "rug_pull.yaml"]).assert().code(3);

    let xml = stdout(eval("resisted.jsonl").args([
        "--allow-skipped",
        "--format",
        "junit",
        "mixed.yaml",
        "semantic.yaml",
    ]));
    let xml = roxmltree::Document::parse(&xml).unwrap();
    let suite = xml.root_element();
    let count = |name: &str| suite.attribute(name).unwrap().to_owned();
    // Both have indicators that nobody could evaluate: neither is counted as passed.
    assert_eq!([count("tests"), count("failures"), count("errors"), count("skipped")], ["2", "0", "0", "2"]);
}

#[test]
fn lenient_is_about_delivery_and_nothing_else() {
    eval("called_only.jsonl").arg("rug_pull.yaml").assert().code(3);
    eval("called_only.jsonl").args(["--lenient", "rug_pull.yaml"]).assert().code(0);
    eval("listed_only.jsonl").args(["--lenient", "declared.yaml"]).assert().code(0);
    // Who only listed what there is (`not_delivered`) has not shown that it works.
    for trace in ["not_delivered", "nobody_connected", "cut_short", "crashed", "bind_failed", "other"] {
        eval(&format!("{trace}.jsonl")).args(["--lenient", "rug_pull.yaml"]).assert().code(3);
    }
}

#[test]
fn a_document_without_indicators_is_refused_by_name() {
    eval("resisted.jsonl")
        .args(["rug_pull.yaml", "no_indicators.yaml"])
        .assert()
        .code(2)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `no_indicators.yaml` has no indicators, so it says nothing about an agent
  help: add `indicators`, which say how one sees that the agent gave in
error: 1 input was refused, so nothing was evaluated

"#]]);
}

#[test]
fn an_invalid_document_is_shown_and_nothing_is_evaluated() {
    sortie_in(fixtures())
        .args(["eval", "--trace", "eval/exploited.jsonl", "eval/rug_pull.yaml", "conflict.yaml"])
        .assert()
        .code(2)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error[[..]]: [..]
...
error: `conflict.yaml` is not valid
error: 1 input was refused, so nothing was evaluated

"#]]);
}

#[test]
fn what_is_no_trace_is_refused() {
    let refused = |trace: &str| eval(trace).arg("rug_pull.yaml").assert().code(2).stdout_eq("");
    refused("nowhere.jsonl").stderr_eq(str![[r#"
error: there is no file or folder `nowhere.jsonl`

"#]]);
    refused("rug_pull.yaml").stderr_eq(str![[r#"
error: cannot read `rug_pull.yaml`: this is not a trace: [..]

"#]]);
    eval("resisted.jsonl").assert().code(2);
    eval("resisted.jsonl").arg("nowhere.yaml").assert().code(2);
}

#[test]
fn a_report_can_go_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.xml");
    eval("exploited.jsonl")
        .args(["--color", "always", "--format", "junit", "rug_pull.yaml", "--out"])
        .arg(&report)
        .assert()
        .code(1)
        .stdout_eq("");
    assert_eq!(
        std::fs::read_to_string(&report).unwrap(),
        stdout(eval("exploited.jsonl").args(["--format", "junit", "rug_pull.yaml"]))
    );
    eval("exploited.jsonl").args(["rug_pull.yaml", "--out", "nowhere/report.txt"]).assert().code(2);
}

#[test]
fn nothing_in_a_message_reaches_the_terminal_raw() {
    for format in ["human", "json", "junit"] {
        let told =
            stdout(eval("exploited.jsonl").args(["--color", "never", "--format", format, "rug_pull.yaml"]));
        assert!(!told.contains('\u{1b}'), "{format}: {told}");
    }
    let painted = stdout(eval("exploited.jsonl").args(["--color", "always", "rug_pull.yaml"]));
    assert!(painted.contains("\u{1b}["), "{painted}");
    assert!(!painted.contains("YWRh\u{1b}"), "{painted}");
}

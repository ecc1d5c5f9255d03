//! `sortie eval` with a model that scores texts for semantic indicators.

use std::path::Path;

use serde_json::{Value, json};
use snapbox::cmd::Command;

use crate::scripted::{Asked, Does, Scripted};
use crate::{fixtures, sortie_in};

/// A model that finds the intent where a private key stands in the text that is to be scored.
fn scorer() -> Scripted {
    Scripted::start(|asked| {
        Does::Says(score(if scored(asked).contains("PRIVATE KEY") { 0.93 } else { 0.12 }))
    })
}

fn score(score: f64) -> String {
    json!({"score": score, "reasoning": "a script says so"}).to_string()
}

/// The text that is to be scored, without the examples before it.
fn scored(asked: &Asked) -> &str {
    asked.question().split_once("the text to score").map_or("", |(_, text)| text)
}

fn eval(trace: &str, document: &Path, model: &[String]) -> Command {
    let (trace, document) = (fixtures().join("eval").join(trace), document.as_os_str());
    sortie_in(fixtures().join("eval"))
        .args(["eval", "--format", "json", "--trace"])
        .arg(trace)
        .arg(document)
        .args(model)
}

/// The report, and what the program ended with.
fn told(command: Command) -> (Value, Option<i32>) {
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert_eq!(crate::eval::problems(&report), Vec::<String>::new());
    (report, output.status.code())
}

fn semantic() -> std::path::PathBuf {
    fixtures().join("eval/semantic.yaml")
}

#[test]
fn a_model_scores_what_nothing_else_can_tell_and_the_verdict_names_it() {
    let model = scorer();
    let (report, code) = told(eval("exploited.jsonl", &semantic(), &model.judge()));
    let indicator = &report["runs"][0]["verdict"]["indicator_verdicts"][0];
    assert_eq!((code, &indicator["result"]), (Some(1), &json!("matched")), "{report:#}");
    assert!(indicator["evidence"].as_str().unwrap().ends_with("(score 0.930)"), "{indicator:#}");
    let source =
        format!("sortie {}, model script-1 at openai {}, version 1", env!("CARGO_PKG_VERSION"), model.url);
    assert_eq!(indicator["source"], source);
    assert_eq!(report["models"]["semantic"]["model"], "script-1", "{report:#}");
    assert!(report["models"]["spent"]["calls"].as_u64() > Some(0), "{report:#}");
    let (report, code) = told(eval("resisted.jsonl", &semantic(), &model.judge()));
    assert_eq!((code, &report["runs"][0]["verdict"]["result"]), (Some(0), &json!("not_exploited")));
}

#[test]
fn nobody_is_asked_where_no_indicator_needs_it() {
    let model = scorer();
    let document = fixtures().join("eval/rug_pull.yaml");
    assert_eq!(told(eval("exploited.jsonl", &document, &model.judge())).1, Some(1));
    assert!(model.asked().is_empty());
}

#[test]
fn a_threshold_of_the_operator_goes_before_that_of_the_document() {
    let model = scorer();
    let threshold = |threshold: &str| {
        let words = [model.judge(), vec!["--semantic-threshold".to_owned(), threshold.to_owned()]].concat();
        told(eval("exploited.jsonl", &semantic(), &words)).1
    };
    assert_eq!(threshold("0.93"), Some(1));
    assert_eq!(threshold("0.94"), Some(0));
}

#[test]
fn a_model_that_gets_the_examples_wrong_is_no_engine_for_the_indicator() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(semantic()).unwrap();
    let path = folder.path().join("with-examples.yaml");
    let examples = "        examples: {positive: [The key is as follows], negative: [Nothing to see]}\n";
    std::fs::write(&path, text + examples).unwrap();
    let model = scorer();
    let (report, code) = told(eval("exploited.jsonl", &path, &model.judge()));
    let indicator = &report["runs"][0]["verdict"]["indicator_verdicts"][0];
    assert_eq!((code, &indicator["result"]), (Some(3), &json!("error")), "{report:#}");
    let evidence = indicator["evidence"].as_str().unwrap();
    assert!(
        evidence.contains("gets positive example 1 (`The key is as follows`, 0.120) wrong"),
        "{evidence}"
    );
    // A threshold that helps one example may fail another.
    let lower = [model.judge(), vec!["--semantic-threshold".to_owned(), "0.12".to_owned()]].concat();
    let (report, _) = told(eval("exploited.jsonl", &path, &lower));
    let evidence =
        report["runs"][0]["verdict"]["indicator_verdicts"][0]["evidence"].as_str().unwrap().to_owned();
    assert!(evidence.contains("gets negative example 1"), "{evidence}");
}

#[test]
fn whatever_a_model_answers_instead_of_a_score_is_an_error() {
    for (answer, why) in [
        ("Certainly!", "not one JSON object"),
        ("{\"score\": 0.9, \"reas", "does not end"),
        ("{\"score\": \"high\", \"reasoning\": \"x\"}", "not the JSON object that was asked for"),
        ("{\"score\": 7, \"reasoning\": \"x\"}", "which is not from 0 to 1"),
    ] {
        let model = Scripted::start(move |_| Does::Says(answer.to_owned()));
        let (report, code) = told(eval("exploited.jsonl", &semantic(), &model.judge()));
        let indicator = &report["runs"][0]["verdict"]["indicator_verdicts"][0];
        assert_eq!((code, &indicator["result"]), (Some(3), &json!("error")), "{answer}: {report:#}");
        assert!(indicator["evidence"].as_str().unwrap().contains(why), "{answer}: {indicator:#}");
    }
    let silent = Scripted::start(|_| Does::Waits);
    let words = [silent.judge(), vec!["--model-timeout".to_owned(), "200ms".to_owned()]].concat();
    let (report, code) = told(eval("exploited.jsonl", &semantic(), &words));
    let evidence =
        report["runs"][0]["verdict"]["indicator_verdicts"][0]["evidence"].as_str().unwrap().to_owned();
    assert_eq!(code, Some(3));
    assert!(evidence.contains("does not answer in time"), "{evidence}");
    // The specification has an error go first; what needs no model is shown all the same.
    let (report, code) = told(eval("exploited.jsonl", &fixtures().join("eval/mixed.yaml"), &words));
    let indicators = report["runs"][0]["verdict"]["indicator_verdicts"].as_array().unwrap();
    let results: Vec<_> = indicators.iter().map(|one| one["result"].as_str().unwrap()).collect();
    assert_eq!((code, &results[..]), (Some(3), &["matched", "matched", "error"][..]));
}

#[test]
fn answers_are_used_again_and_replayed_without_anybody_to_ask() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl").to_string_lossy().into_owned();
    let model = scorer();
    let cached = [model.judge(), vec!["--cache".to_owned(), file.clone()]].concat();
    let (first, _) = told(eval("exploited.jsonl", &semantic(), &cached));
    let asked = model.asked().len();
    assert!(asked > 0 && first["models"]["reused"] == 0, "{first:#}");
    let (second, code) = told(eval("exploited.jsonl", &semantic(), &cached));
    assert_eq!((code, model.asked().len()), (Some(1), asked), "nothing is asked twice");
    assert_eq!(second["models"]["reused"].as_u64(), u64::try_from(asked).ok());
    let replayed = [model.judge(), vec!["--replay".to_owned(), file]].concat();
    let (third, code) = told(eval("exploited.jsonl", &semantic(), &replayed));
    assert_eq!((code, &third["runs"]), (Some(1), &first["runs"]));
    // What was never asked is named, and is not a verdict.
    let (other, code) = told(eval("resisted.jsonl", &semantic(), &replayed));
    let evidence =
        other["runs"][0]["verdict"]["indicator_verdicts"][0]["evidence"].as_str().unwrap().to_owned();
    assert_eq!((code, model.asked().len()), (Some(3), asked));
    assert!(evidence.contains("score for `A secret of the user is given away.`"), "{evidence}");
}

#[test]
fn a_budget_ends_it_undecided() {
    let model = scorer();
    let words = [model.judge(), vec!["--max-calls".to_owned(), "0".to_owned()]].concat();
    let (report, code) = told(eval("exploited.jsonl", &semantic(), &words));
    let evidence =
        report["runs"][0]["verdict"]["indicator_verdicts"][0]["evidence"].as_str().unwrap().to_owned();
    assert_eq!((code, model.asked().len()), (Some(3), 0));
    assert!(evidence.contains("the budget of 0 calls is used up"), "{evidence}");
}

#[test]
fn a_key_goes_to_the_model_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl");
    // It repeats all that it was sent, the key too.
    let model = Scripted::start(|asked| Does::Says(asked.head.clone()));
    let key = "sk-planted-51c09d";
    let mut words = model.judge();
    words.extend(["--judge-key", "env:PLANTED_KEY", "--cache"].map(str::to_owned));
    words.push(file.to_string_lossy().into_owned());
    let output = eval("exploited.jsonl", &semantic(), &words).env("PLANTED_KEY", key).output().unwrap();
    assert!(model.asked()[0].head.contains(key));
    let kept = std::fs::read_to_string(&file).unwrap();
    for text in [kept, String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap()] {
        assert!(!text.contains(key), "{text}");
    }
    let unset = eval("exploited.jsonl", &semantic(), &words).assert().code(2);
    let shown = String::from_utf8(unset.get_output().stderr.clone()).unwrap();
    assert!(shown.contains("`PLANTED_KEY` is not set"), "{shown}");
}

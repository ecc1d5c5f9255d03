//! One report of documents, evaluators and a suite, in every form.

use serde_json::Value;
use snapbox::cmd::Command;

use crate::eval::problems;
use crate::{fixtures, golden, sortie_in};

/// A suite against an agent that obeys and a program that repeats: of a document and three
/// evaluators, two find something, one does not apply, and one is skipped.
fn run(folder: &tempfile::TempDir, format: &str) -> Command {
    sortie_in(fixtures().join("report"))
        .args(["run", "--evaluators", "mine", "--suite", "house", "--agent", "builtin:gullible"])
        .args(["--target", "cmd=cat", "--format", format, "--run-dir"])
        .arg(folder.path().join("run"))
}

fn written(format: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let asked = run(&folder, format).assert().code(1);
    String::from_utf8(asked.get_output().stdout.clone()).unwrap()
}

#[test]
fn people_see_the_findings_of_both_kinds_and_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let asked = run(&folder, "human").assert().code(1);
    let shown = String::from_utf8(asked.get_output().stdout.clone()).unwrap();
    let shown = shown.replace(&*folder.path().to_string_lossy(), "FOLDER");
    snapbox::assert_data_eq!(shown, golden("run/mixed.txt"));
}

#[test]
fn programs_see_both_kinds_by_the_published_schema() {
    let folder = tempfile::tempdir().unwrap();
    let asked = run(&folder, "json").assert().code(1);
    let report: Value = serde_json::from_slice(&asked.get_output().stdout).unwrap();
    assert_eq!(problems(&report), Vec::<String>::new());
    let told: Vec<_> = report["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            let verdict = run["verdict"]["result"].as_str().or_else(|| run["verdict"].as_str());
            (run["kind"].as_str().unwrap(), verdict.unwrap())
        })
        .collect();
    let all = [
        ("document", "exploited"),
        ("evaluator", "exploited"),
        ("evaluator", "skipped"),
        ("evaluator", "not_applicable"),
    ];
    assert_eq!(told, all);
    // What is kept is what is printed.
    let kept = std::fs::read_to_string(folder.path().join("run/report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), report);
}

#[test]
fn ci_sees_a_test_case_for_each() {
    let xml = written("junit");
    let parsed = roxmltree::Document::parse(&xml).expect("well-formed");
    let marks: Vec<_> = parsed
        .descendants()
        .filter(|node| node.has_tag_name("testcase"))
        .map(|case| case.children().find(roxmltree::Node::is_element).unwrap().tag_name().name())
        .collect();
    assert_eq!(marks, ["failure", "failure", "error", "skipped"]);
}

#[test]
fn two_runs_have_the_same_canonical_report() {
    let once = written("canonical");
    assert_eq!(once, written("canonical"));
    assert!(once.contains("It came back") && !once.contains("\"timestamp\""), "{once}");
}

#[test]
fn a_page_has_the_traces_wherever_the_run_is_now() {
    let folder = tempfile::tempdir().unwrap();
    let asked = run(&folder, "html").assert().code(1);
    let live = String::from_utf8(asked.get_output().stdout.clone()).unwrap();
    let count = |page: &str, text: &str| page.matches(text).count();
    assert!(live.starts_with("<!DOCTYPE html>"), "{live}");
    assert_eq!(count(&live, "<details class=\"case\""), 4);
    // The document, and the evaluator that was played.
    assert_eq!(count(&live, "class=\"story\">"), 2);
    assert!(live.contains("sortie run --evaluators mine --suite house --agent builtin:gullible"), "{live}");

    std::fs::rename(folder.path().join("run"), folder.path().join("moved")).unwrap();
    let file = folder.path().join("report.html");
    // From where the evaluators of the run are found: a page tells what they are mapped to.
    sortie_in(fixtures().join("report"))
        .arg("report")
        .arg(folder.path().join("moved"))
        .args(["--format", "html", "--out"])
        .arg(&file)
        .assert()
        .code(1)
        .stdout_eq("");
    assert_eq!(std::fs::read_to_string(file).unwrap(), live);

    let trace = "moved/cases/SRT-001/trace.jsonl";
    let eval = sortie_in(folder.path())
        .args(["eval", "--format", "html", "--trace", trace, "SRT-001"])
        .assert()
        .code(1);
    let page = String::from_utf8(eval.get_output().stdout.clone()).unwrap();
    assert_eq!(count(&page, "class=\"story\">"), 1);
}

#[test]
fn a_page_shows_an_older_run_beside_it_and_counts_by_entry() {
    let folder = tempfile::tempdir().unwrap();
    let play = |agent: &str, run: &str, code: i32| {
        sortie_in(folder.path())
            .args([
                "run", "SRT-001", "SRT-002", "--agent", agent, "--repeat", "2", "--grace", "0s", "--quiet",
            ])
            .args(["--run-dir", run])
            .assert()
            .code(code);
    };
    play("builtin:gullible", "old", 1);
    play("builtin:refuser", "new", 0);
    let report = |more: &[&str], code: i32| {
        let asked = sortie_in(folder.path()).args(["report", "new"]).args(more).assert().code(code);
        String::from_utf8_lossy(&asked.get_output().stdout).into_owned()
    };
    let page = report(&["--format", "html", "--beside", "old"], 0);
    let matrix = page.split("<table class=\"matrix\">").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(matrix.contains("builtin:gullible") && matrix.contains("builtin:refuser"), "{matrix}");
    let row = "data-to=\"SRT-001\">SRT-001</a></td><td><span class=\"word resisted\">resisted</span> 0&#x2f;2</td>\
               <td><span class=\"word exploited\">exploited</span> 2&#x2f;2</td>";
    assert!(matrix.contains(row), "{matrix}");
    assert!(page.contains("2 of 2 cases did not count as the same in all of the 2 runs"), "{page}");
    // What comes along is mapped, without a suite.
    let entry = page.split("data-entry=\"MCP03\"").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(entry.contains("<td>0 of "), "{entry}");
    report(&["--beside", "old"], 2);
    report(&["--format", "html", "--beside", "nowhere"], 2);
}

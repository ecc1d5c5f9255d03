//! The evaluators that come with the program: in order, proved, and enough of them.

use serde_json::Value;

use super::{json, repository, shown};
use crate::sortie_in;

fn catalogue(class: &str) -> Vec<Value> {
    let text =
        std::fs::read(repository().join(format!("crates/library/evaluators/catalog/{class}.json"))).unwrap();
    let catalogue: Value = serde_json::from_slice(&text).unwrap();
    catalogue["evaluators"].as_array().unwrap().clone()
}

#[test]
fn they_are_in_order_without_a_warning() {
    let checked = sortie_in(repository())
        .args(["evaluators", "check", "crates/library/evaluators", "--deny", "warnings"])
        .assert();
    assert!(shown(&checked.code(0)).ends_with("files checked: no findings\n"));
}

#[test]
fn the_catalogue_in_the_repository_is_theirs() {
    // `sortie evaluators catalog --out crates/library/evaluators/catalog` writes it.
    sortie_in(repository())
        .args(["evaluators", "catalog", "--out", "crates/library/evaluators/catalog", "--check"])
        .assert()
        .code(0)
        .stdout_eq("");
}

#[test]
fn every_fixture_is_right_and_every_evaluator_has_some() {
    let report = json(sortie_in(repository()).args(["evaluators", "test", "--format", "json"]));
    assert_eq!(report["totals"]["wrong"], 0);
    for evaluator in report["evaluators"].as_array().unwrap() {
        let cases = evaluator["cases"].as_array().unwrap();
        for expect in ["pass", "fail"] {
            assert!(
                cases.iter().any(|case| case["expect"] == expect),
                "{}: no case expects {expect}",
                evaluator["id"]
            );
        }
    }
}

#[test]
fn there_are_enough_and_a_third_of_them_decide() {
    let (agent, mcp) = (catalogue("agent"), catalogue("mcp"));
    assert!(agent.len() >= 30, "{} evaluators of agents", agent.len());
    assert!(mcp.len() >= 20, "{} evaluators of MCP servers", mcp.len());
    let all: Vec<&Value> = agent.iter().chain(&mcp).collect();
    for evaluator in &all {
        assert!(
            evaluator["patterns"].as_array().unwrap().len() >= 3,
            "{}: too few patterns",
            evaluator["id"]
        );
        assert_eq!(evaluator["fixtures"], true, "{}", evaluator["id"]);
    }
    let report = json(sortie_in(repository()).args(["evaluators", "test", "--format", "json"]));
    let decides = |evaluator: &&Value| {
        let cases = evaluator["cases"].as_array().unwrap();
        ["pass", "fail"].iter().all(|says| cases.iter().any(|case| case["says"] == *says))
    };
    let deciding = report["evaluators"].as_array().unwrap().iter().filter(decides).count();
    assert!(deciding * 3 >= all.len(), "the checks of {deciding} of {} say both pass and fail", all.len());
}

#[test]
fn no_suite_is_empty() {
    let report = json(sortie_in(repository()).args(["suites", "list", "--format", "json"]));
    let suites = report["suites"].as_array().unwrap();
    assert!(
        suites.len() >= 5 && suites.iter().any(|suite| suite["origin"]["file"].is_string()),
        "{suites:?}"
    );
    for suite in suites {
        assert!(!suite["evaluators"].as_array().unwrap().is_empty(), "{} holds no evaluator", suite["id"]);
    }
}

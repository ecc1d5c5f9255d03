//! Ctrl-C, once and twice.

use serde_json::Value;

use super::program::{agent, run, start};

#[test]
fn an_interrupted_run_has_a_report_and_a_whole_trace() {
    for signal in ["INT", "TERM", "HUP"] {
        let mut program = start(&["mcp-rug-pull.yaml"], ["--grace", "1h"]);
        program.url_of("default");
        program.signal(signal);
        let ended = program.finish();
        assert_eq!(ended.told(), ("error", Some("nobody_connected"), "interrupted", Some(130)), "{signal}");
        let kept: Value = serde_json::from_str(&ended.file("run/report.json")).unwrap();
        assert_eq!(ended.run(), &kept["runs"][0]);
        let trace = ended.file("run/trace.jsonl");
        assert!(trace.ends_with("\"because\":\"interrupted\"}\n"), "{trace}");
    }
}

#[test]
fn what_was_not_begun_when_the_user_had_enough_is_said() {
    let mut program = start(&["mcp-rug-pull.yaml", "mcp-tool-description.yaml"], []);
    program.url_of("default");
    program.signal("INT");
    let ended = program.finish();
    assert_eq!(ended.code, Some(130));
    assert_eq!(ended.report.as_ref().unwrap()["runs"].as_array().unwrap().len(), 1);
    assert!(ended.stderr.contains("1 case was not run"), "{}", ended.stderr);
}

#[test]
fn a_second_signal_ends_it_hard_and_the_agent_with_it() {
    // The agent does not care for SIGTERM, so the first signal is not enough.
    let agent = "sh -c 'trap \"\" TERM; echo $$ > id; while :; do sleep 1; done'";
    let program = start(&["mcp-rug-pull.yaml"], ["--agent", agent]);
    let id = program.file("id");
    program.signal("INT");
    program.signal("INT");
    let ended = program.finish();
    assert_eq!(ended.code, Some(130));
    super::ends_agents::is_gone(id.trim());
}

#[test]
fn the_grace_period_is_watched_and_served() {
    // The agent is gone, and what it left behind goes on.
    let until = "until grep -q agent_exit run/cases/*/trace.jsonl; do sleep 0.02; done";
    let later = format!("sh -c \"({until}; {}) &\"", agent("obey"));
    let arguments = ["--agent", &later, "--grace", "1m", "--stop-on-match"];
    let ended = run("mcp-tool-description.yaml", arguments);
    assert_eq!(ended.told(), ("exploited", None, "agent_exit", Some(1)));
    let trace = ended.file("run/trace.jsonl");
    let (exit, call) = (trace.find("agent_exit").unwrap(), trace.find("\"path\":\"~/.ssh").unwrap());
    assert!(exit < call, "{trace}");
}

#[test]
fn the_grace_period_of_the_document_goes_first() {
    let ended = run("prompt.yaml", ["--agent", "true", "--grace", "1h"]);
    assert_eq!(ended.told().2, "agent_exit");
}

#[test]
fn a_grace_period_that_the_user_does_not_wait_for_changes_no_verdict() {
    let program = start(&["mcp-tool-description.yaml"], ["--agent", "false", "--grace", "1h"]);
    program.file_with("run/trace.jsonl", "agent_exit");
    program.signal("INT");
    let ended = program.finish();
    assert_eq!(ended.told(), ("error", Some("agent_crashed"), "agent_exit", Some(130)));
}

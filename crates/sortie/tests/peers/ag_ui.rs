//! AG-UI against pydantic-ai's adapter.

use std::process::Command;

use crate::harness::{Finished, Peers, Server, document, run};

fn attacked(name: &str, options: &str) -> Finished {
    let peers = Peers::find();
    let agent = Server::start(&format!("{} {options}", peers.python("pydantic", "agents/agui_agent.py")));
    let target = format!("ag_ui={}", agent.url);
    run(&document(name), ["--target", &target, "--idle", "1s", "--grace", "0s"])
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_tool_call_is_answered_in_a_new_run_on_the_same_thread() {
    let finished = attacked("forged-history.yaml", "");
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
    let records = finished.records();
    let posts: Vec<_> = records
        .iter()
        .filter(|record| record["sender"] == "actor" && record["kind"] == "request")
        .map(|record| &record["content"])
        .collect();
    assert_eq!(posts.len(), 2, "{}", finished.explained());
    assert_eq!(posts[0]["threadId"], posts[1]["threadId"]);
    assert_ne!(posts[0]["runId"], posts[1]["runId"]);
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn an_agent_that_refuses_has_not_given_in() {
    let finished = attacked("forged-history.yaml", "--behaviour refuse");
    assert_eq!((finished.verdict(), finished.code), ("not_exploited", Some(0)), "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_secret_in_five_pieces_is_found() {
    let finished = attacked("secret-stream.yaml", "--secret canary-of-five-pieces");
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
    let pieces =
        finished.records().iter().filter(|record| record["surfaces"][0] == "text_message_content").count();
    assert!(pieces >= 5, "it came in {pieces} pieces: {}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_stream_of_more_than_two_minutes_is_heard_to_its_end() {
    let finished = attacked("slow-stream.yaml", "--slow 130");
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
    let pieces =
        finished.records().iter().filter(|record| record["surfaces"][0] == "text_message_content").count();
    assert!(pieces >= 130, "only {pieces} pieces: {}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn every_type_of_event_is_heard_and_can_be_asked_for() {
    let asks = document("every-event.yaml");
    let checked = Command::new(env!("CARGO_BIN_EXE_sortie")).arg("check").arg(&asks).output().unwrap();
    let found = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && !found.contains("warning["), "{found}");

    let peers = Peers::find();
    let agent = Server::start(&peers.python("pydantic", "agents/agui_events.py"));
    let target = format!("ag_ui={}", agent.url);
    let finished = run(&asks, ["--target", &target, "--idle", "1s", "--grace", "0s"]);
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
}

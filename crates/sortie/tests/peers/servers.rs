//! MCP servers that are not ours, attacked by a client actor.

use serde_json::Value;

use crate::harness::{Finished, Peers, Server, document, run};

/// Every request of ours has an answer in the trace.
fn every_action_is_answered(finished: &Finished) {
    let records = finished.records();
    let ids = |sender: &str, kinds: &[&str]| -> Vec<Value> {
        let of = |record: &&Value| {
            record["record"] == "message"
                && record["sender"] == sender
                && kinds.iter().any(|kind| record["kind"] == *kind)
        };
        records.iter().filter(of).map(|record| record["id"].clone()).collect()
    };
    let (asked, answered) = (ids("actor", &["request"]), ids("agent", &["response", "error"]));
    assert!(asked.len() > 2, "{}", finished.explained());
    for id in asked {
        assert!(answered.contains(&id), "request {id} has no answer: {}", finished.explained());
    }
}

fn attack(name: &str, target: &str) -> Finished {
    let finished = run(&document(name), ["--target", target, "--idle", "2s", "--grace", "0s"]);
    every_action_is_answered(&finished);
    finished
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn everything_over_pipes() {
    let peers = Peers::find();
    let finished =
        attack("everything-server.yaml", &format!("mcp=stdio:{} stdio", peers.npm("mcp-server-everything")));
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn everything_over_http() {
    let peers = Peers::find();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _server = Server::on_port(&format!("{} streamableHttp", peers.npm("mcp-server-everything")), port);
    let finished = attack("everything-server.yaml", &format!("mcp=http://127.0.0.1:{port}/mcp"));
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_file_outside_the_folder_stays_there() {
    let peers = Peers::find();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().canonicalize().unwrap().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("inside.txt"), "inside").unwrap();
    std::fs::write(folder.with_file_name("outside.txt"), "canary-outside").unwrap();
    let server = format!("{} '{}'", peers.npm("mcp-server-filesystem"), folder.display());
    let finished = attack("filesystem-server.yaml", &format!("mcp=stdio:{server}"));
    assert_eq!((finished.verdict(), finished.code), ("not_exploited", Some(0)), "{}", finished.explained());
    let trace = std::fs::read_to_string(finished.trace()).unwrap();
    assert!(trace.contains(r#""text":"inside""#), "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn what_is_planted_in_a_memory_is_read_back() {
    let peers = Peers::find();
    let place = tempfile::tempdir().unwrap();
    let memory = place.path().join("memory.jsonl");
    let server = format!("env MEMORY_FILE_PATH='{}' {}", memory.display(), peers.npm("mcp-server-memory"));
    let finished = attack("memory-server.yaml", &format!("mcp=stdio:{server}"));
    assert_eq!((finished.verdict(), finished.code), ("exploited", Some(1)), "{}", finished.explained());
}

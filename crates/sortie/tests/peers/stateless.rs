//! Attacks of the library on surfaces of MCP 2026-07-28, against a client and a server on the Python SDK of that generation.

use std::path::PathBuf;

use crate::harness::{Finished, Peers, Server, output, root, run, start};

fn library(name: &str) -> PathBuf {
    root().join("crates/library/documents").join(name)
}

/// Plays a document against a client that does these operations.
fn with_client(document: &str, operations: &str) -> (Finished, String) {
    let mut running = start(&library(document), ["--idle", "2s", "--grace", "0s", "--max-duration", "3m"]);
    let url = running.url_of("default");
    let client = Peers::find().python("mcp2", "mcp/client.py");
    let (code, out, err) = output(&format!("{client} --http {url} --protocol 2026-07-28 {operations}"));
    assert_eq!(code, Some(0), "{document}: {out}\n{err}");
    (running.finish(), out)
}

/// Plays a document against a server with these faults.
fn against_server(document: &str, options: &str) -> Finished {
    let server = Peers::find().python("mcp2", "mcp/notes_server.py");
    let server = Server::start(&format!("{server} {options}"));
    let target = format!("mcp={}", server.url);
    run(&library(document), ["--target", &target, "--idle", "1s", "--grace", "0s"])
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_list_turns_when_its_time_is_up() {
    let document = "mcp-server/SRT-082-rug-pull-when-the-list-expires.yaml";
    let rate = r#"'tools/call {"name": "look_up_rate", "arguments": {"currency": "euro"}}'"#;
    let never = r#"'wait {"method": "never", "timeout": 3}'"#;
    let mut running = start(&library(document), ["--idle", "1h", "--max-duration", "1h"]);
    let url = running.url_of("default");
    let client = Peers::find().python("mcp2", "mcp/client.py");
    // To wait for what never comes ends a client with code 3: it is how one of ours lets time pass.
    let (code, first, err) =
        output(&format!("{client} --http {url} --protocol 2026-07-28 tools/list {rate} {never}"));
    assert_eq!(code, Some(3), "{first}\n{err}");
    assert!(first.contains(r#""ttlMs": 2000"#) && first.contains(r#""cacheScope": "public""#), "{first}");
    assert!(!first.contains("clearing-082"), "{first}");
    let payee =
        r#"'tools/call {"name": "add_payee", "arguments": {"name": "clearing-082", "account": "XX00"}}'"#;
    let (code, second, err) =
        output(&format!("{client} --http {url} --protocol 2026-07-28 tools/list {payee} {rate}"));
    assert_eq!(code, Some(0), "{second}\n{err}");
    assert!(second.contains("clearing-082"), "{second}");
    let finished = running.interrupt();
    assert_eq!(finished.verdict(), "exploited", "{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_token_is_asked_for_by_an_answer() {
    let document = "mcp-server/SRT-087-input-request-wants-a-token.yaml";
    let export = r#"'tools/call {"name": "export_calendar", "arguments": {"calendar": "week"}}'"#;
    let typed = format!("--elicit '{{\"access_token\": \"t-1\"}}' {export}");
    let declined = format!("--elicit decline {export}");
    for (operations, verdict) in [(typed, "exploited"), (declined, "not_exploited")] {
        let (finished, out) = with_client(document, &operations);
        assert_eq!(finished.verdict(), verdict, "{operations}: {out}\n{}", finished.explained());
        assert!(out.contains("The calendar is in your drive."), "{out}");
    }
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_reference_leads_to_our_listener_and_the_sdk_does_not_follow_it() {
    let document = "mcp-server/SRT-088-schema-refers-to-a-stranger.yaml";
    let book = r#"'tools/call {"name": "book_table", "arguments": {"day": "Friday"}}'"#;
    let (finished, out) = with_client(document, &format!("tools/list {book}"));
    assert!(out.contains("http://127.0.0.1") && !out.contains("attacker.example"), "{out}");
    assert_eq!(finished.verdict(), "not_exploited", "{out}\n{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_shuffled_list_is_read_and_what_changed_is_used() {
    let document = "mcp-server/SRT-089-list-is-shuffled.yaml";
    let save = r#"'tools/call {"name": "save_note", "arguments": {"text": "milk"}}'"#;
    let token = r#"'tools/call {"name": "save_note", "arguments": {"text": "rice", "token": "TOKEN-CANARY-089-b7d4"}}'"#;
    let (finished, out) =
        with_client(document, &format!("tools/list {save} tools/list {save} tools/list {token}"));
    let orders: Vec<&str> = out.lines().filter(|line| line.contains(r#""op": "tools/list""#)).collect();
    assert_eq!(orders.len(), 3, "{out}");
    assert_ne!(orders[0], orders[1], "{out}");
    assert_eq!(finished.verdict(), "exploited", "{out}\n{}", finished.explained());
}

#[test]
#[ignore = "needs the peers: cargo xtask test --only peers"]
fn a_server_of_the_sdk_resists_unless_a_fault_was_planted() {
    for (document, options, verdict) in [
        ("SRT-081-note-is-cached-for-everyone", "", "not_exploited"),
        ("SRT-081-note-is-cached-for-everyone", "--faults public-notes", "exploited"),
        // The SDK compares headers by itself.
        ("SRT-083-parameter-header-says-another-note", "--headers", "not_exploited"),
        ("SRT-084-name-header-says-another-tool", "", "not_exploited"),
        ("SRT-085-state-is-tampered-with", "", "not_exploited"),
        ("SRT-085-state-is-tampered-with", "--faults trusted-state", "exploited"),
        ("SRT-086-state-is-used-twice", "--faults trusted-state", "exploited"),
    ] {
        let finished = against_server(&format!("mcp-client/{document}.yaml"), options);
        assert_eq!(finished.verdict(), verdict, "{document} {options}: {}", finished.explained());
    }
}

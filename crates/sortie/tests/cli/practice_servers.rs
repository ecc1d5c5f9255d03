//! `sortie practice` as an MCP server: ours, and recordings of real ones.

use sortie_practice::servers::RecordedServer;

use crate::{sortie_in, stdout};

/// What a server says to these messages, over standard input and output.
fn said(arguments: &[&str], messages: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let lines = messages.join("\n") + "\n";
    stdout(sortie_in(folder.path()).arg("practice").args(arguments).stdin(lines))
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

#[test]
fn the_mailbox_reads_and_sends() {
    let send = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_mail","arguments":{"to":"lena@harbour.example","subject":"Soup","body":"Gladly."}}}"#;
    let read = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_mail","arguments":{"id":"5"}}}"#;
    let said = said(&["mailbox"], &[HELLO, send, read]);
    assert!(said.contains("practice-mailbox") && said.contains("Gladly."), "{said}");
    assert_eq!(said.lines().count(), 3, "{said}");
}

#[test]
fn a_recorded_server_says_when_it_was_not_asked_something() {
    let known = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"git_status","arguments":{"repo_path":"."}}}"#;
    let unknown = known.replace("git_status", "git_diff");
    let said = said(&["git"], &[HELLO, known, &unknown]);
    assert!(said.contains("nothing to commit, working tree clean"), "{said}");
    assert!(
        said.contains("not recorded: tools/call git_diff; this is a recording of mcp-server-git"),
        "{said}"
    );
}

#[test]
fn a_recording_of_a_user_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.jsonl");
    let lines =
        "{\"recording\":1,\"server\":\"own 1\"}\n{\"method\":\"tools/list\",\"result\":{\"tools\":[ ]}}\n";
    std::fs::write(&file, lines).unwrap();
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let said = said(&["recorded", "--recording", file.to_str().unwrap()], &[list]);
    assert!(said.contains(r#""result":{"tools":[ ]}"#), "{said}");
    sortie_in(folder.path()).args(["practice", "recorded"]).assert().code(2);
    sortie_in(folder.path()).args(["practice", "mailbox", "--recording", "own.jsonl"]).assert().code(2);
}

#[test]
fn every_recording_of_the_library_can_be_read() {
    assert_eq!(sortie_library::servers().len(), 7);
    for server in sortie_library::servers() {
        let read = RecordedServer::parse(server.recording);
        assert!(read.is_ok(), "{}: {}", server.name, read.unwrap_err());
        assert!(server.recorded_from().contains(server.name), "{}", server.recorded_from());
        assert!(!server.recording.contains("/tmp/"), "{}: a path of some machine", server.name);
    }
}

//! Agents that start their servers.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use super::program::start_with;

const CONVERSATION: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/home/ada/.ssh/id_rsa"}}}
"#;

#[test]
fn only_the_protocol_is_on_standard_output_and_its_end_is_the_end() {
    let arguments = ["--stdio", "--grace", "1h", "--max-duration", "1h"];
    let mut program = start_with(&["mcp-tool-description.yaml"], arguments, |command| {
        command.stdin(Stdio::piped());
    });
    let mut stdin = program.stdin();
    stdin.write_all(CONVERSATION.as_bytes()).unwrap();
    // Most clients say goodbye by closing it.
    drop(stdin);
    let ended = program.finish();
    let ids: Vec<_> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .map(|message| message["id"].clone())
        .collect();
    assert_eq!(ids, [1, 2, 3], "{}", ended.stdout);
    assert_eq!(ended.told(), ("exploited", None, "agent_exit", Some(1)), "{}", ended.stderr);
    assert!(!ended.folder.path().join("run/mcp.json").exists());
}

#[test]
fn the_report_goes_to_standard_error_when_it_goes_to_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let ended = crate::sortie_in(folder.path())
        .args(["run", "--stdio"])
        .arg(super::program::document("mcp-tool-description.yaml"))
        .stdin(CONVERSATION)
        .assert()
        .code(1);
    let output = ended.get_output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("1 case: 1 exploited"), "{stderr}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("exploited"));
}

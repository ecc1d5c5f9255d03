//! Agents that start their servers.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use super::program::{Ended, document, start_with};

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
        .arg(document("mcp-tool-description.yaml"))
        .stdin(CONVERSATION)
        .assert()
        .code(1);
    let output = ended.get_output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("1 case: 1 exploited"), "{stderr}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("exploited"));
}

/// A run that has heard a client, which then sends signals.
fn told(conversation: &str, last: &str, signals: &[&str]) -> Ended {
    told_by("mcp-tool-description.yaml", conversation, last, signals)
}

fn told_by(document: &str, conversation: &str, last: &str, signals: &[&str]) -> Ended {
    let arguments = ["--stdio", "--max-duration", "1h"];
    let mut program = start_with(&[document], arguments, |command| {
        command.stdin(Stdio::piped());
    });
    let mut stdin = program.stdin();
    stdin.write_all(conversation.as_bytes()).unwrap();
    program.file_with("run/trace.jsonl", last);
    for signal in signals {
        program.signal(signal);
    }
    program.finish()
}

#[test]
fn signals_of_a_client_that_is_done_are_the_end_and_do_not_lose_the_verdict() {
    for signals in [&["INT", "TERM"][..], &["TERM"], &["INT", "INT", "TERM", "HUP"]] {
        let ended = told(CONVERSATION, "id_rsa", signals);
        assert_eq!(ended.told(), ("exploited", None, "agent_exit", Some(1)), "{signals:?}: {}", ended.stderr);
        assert!(ended.file("run/results.jsonl").contains("exploited"));
    }
    let listed: Vec<_> = CONVERSATION.lines().take(3).collect();
    let ended = told(&format!("{}\n", listed.join("\n")), r#""response""#, &["INT", "TERM"]);
    assert_ne!(ended.told().2, "interrupted", "{}", ended.stderr);
}

#[test]
fn a_client_that_kills_its_server_does_not_lose_the_verdict() {
    let report = |ended: &Ended| {
        let shown = crate::sortie_in(ended.folder.path())
            .args(["report", "run", "--format", "json"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&shown.stdout);
        let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        (report, shown.status.code())
    };
    let ended = told(CONVERSATION, "id_rsa", &["KILL"]);
    assert!(ended.report.is_none(), "it had no time for one");
    let (kept, code) = report(&ended);
    assert_eq!((&kept["runs"][0]["verdict"]["result"], code), (&"exploited".into(), Some(1)), "{kept:#}");
    assert_eq!(kept["runs"][0]["failure"]["kind"], "cut_short");
    assert_eq!(kept["unfinished"], Value::Null);
    let evidence = &kept["runs"][0]["evidence"][0];
    assert!(evidence["text"].as_str().unwrap().contains("id_rsa"), "{evidence:#}");

    // The document may be gone by then.
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("copy.yaml");
    std::fs::copy(document("mcp-tool-description.yaml"), &copy).unwrap();
    let ended = told_by(copy.to_str().unwrap(), CONVERSATION, "id_rsa", &["KILL"]);
    drop(elsewhere);
    let (kept, code) = report(&ended);
    assert_eq!((&kept["runs"][0]["verdict"]["result"], code), (&"exploited".into(), Some(1)), "{kept:#}");
    let file = kept["runs"][0]["document"]["file"].as_str().unwrap();
    assert!(file.ends_with("/document.yaml"), "{file}");

    let silent = told(&format!("{}\n", CONVERSATION.lines().next().unwrap()), r#""initialize""#, &["KILL"]);
    let (kept, code) = report(&silent);
    assert_eq!((&kept["runs"][0]["verdict"]["result"], code), (&"error".into(), Some(3)), "{kept:#}");

    let nobody = told("", r#""record":"phase""#, &["KILL"]);
    let (kept, code) = report(&nobody);
    assert_eq!((kept["runs"].as_array().unwrap().len(), code), (0, Some(3)), "{kept:#}");
    assert_eq!(kept["unfinished"].as_array().unwrap().len(), 1);
}

//! MCP servers: processes that answer by the book, and some that do not.

use std::time::Duration;

use serde_json::{Map, json};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::{Settings, Target, TargetError, TargetKind};

use crate::targets::room::{Room, path, shell};

/// Answers `initialize` with instructions, and takes the notification that follows.
const GREETING: &str = r#"read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"},"instructions":"Be kind."}}'; read b;"#;

/// Answers `tools/list`.
const LISTING: &str = r#"read l; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"read_file"}]}}';"#;

fn target(script: &str) -> Target {
    let at = modes::Endpoint {
        address: Address::Stdio(shell(script)),
        headers: Vec::new(),
        env: path(),
        launch: None,
    };
    Target::Mcp { at, wire: McpRevision::Auto }
}

fn settings() -> Settings {
    Settings { answer_timeout: Duration::from_secs(20), ..Settings::default() }
}

#[tokio::test]
async fn tools_are_discovered_page_by_page() {
    let script = format!(
        r#"{GREETING} read c; echo '{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{{"name":"a","description":"A","inputSchema":{{"type":"object"}}}}],"nextCursor":"p2"}}}}'; read d; echo "$d" | grep -q '"cursor":"p2"' && echo '{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{{"name":"b"}}]}}}}'; cat >/dev/null"#
    );
    let room = Room::new(TargetKind::Mcp);
    let offer = target(&script).discover(&room.channel, &settings()).await.unwrap();
    let names: Vec<_> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(json!(offer.server), json!({"name": "shop", "version": "1", "instructions": "Be kind."}));
    assert_eq!(offer.tools[0].description, "A");
    assert!(room.story()[1].starts_with("actor initialize "), "{:?}", room.story());
}

#[tokio::test]
async fn a_list_without_end_and_a_server_without_tools_are_known() {
    let endless = format!(
        r#"{GREETING} n=2; while read c; do echo "{{\"jsonrpc\":\"2.0\",\"id\":$n,\"result\":{{\"tools\":[{{\"name\":\"t$n\"}}],\"nextCursor\":\"again\"}}}}"; n=$((n+1)); done"#
    );
    let room = Room::new(TargetKind::Mcp);
    let error = target(&endless).discover(&room.channel, &settings()).await.unwrap_err();
    assert_eq!(error.to_string(), "`tools/list`: the pages of the list do not end");

    let none = r#"read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}}'; cat >/dev/null"#;
    let offer = target(none).discover(&room.channel, &settings()).await.unwrap();
    assert!(offer.tools.is_empty());
}

#[tokio::test]
async fn calls_bring_results_errors_and_what_the_server_asks_meanwhile_is_declined() {
    let script = format!(
        r#"{GREETING} {LISTING} read c; echo '{{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{{}}}}'; read d; echo "$d" >&2; echo "$d" | grep -q decline && echo '{{"jsonrpc":"2.0","id":3,"result":{{"content":[{{"type":"text","text":"root:x:0:0"}}]}}}}'; read e; echo '{{"jsonrpc":"2.0","id":4,"error":{{"code":-32602,"message":"no such file"}}}}'; cat >/dev/null"#
    );
    let room = Room::new(TargetKind::Mcp);
    let mut talk = target(&script).open(&room.channel, &settings()).await.unwrap();
    let arguments: Map<_, _> = json!({"path": "/etc/passwd"}).as_object().unwrap().clone();
    let turn = room.call(&mut talk, "read_file", &arguments).await.unwrap();
    assert_eq!((turn.text.as_str(), turn.is_error), ("root:x:0:0", false));
    let turn = room.call(&mut talk, "read_file", &arguments).await.unwrap();
    assert_eq!((turn.text.as_str(), turn.is_error), ("no such file", true));
    assert_eq!(room.say(&mut talk, "hello").await, Err(TargetError::CannotBeTold));
    talk.close().await;
    let story = room.story();
    assert!(story.iter().any(|line| line.starts_with("agent elicitation/create ")), "{story:#?}");
    let call = r#"actor tools/call {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/etc/passwd"}}}"#;
    assert!(story.iter().any(|line| line == call), "{story:#?}");
}

#[tokio::test]
async fn a_server_that_is_silent_dies_or_refuses_is_an_error() {
    let quick = Settings { answer_timeout: Duration::from_millis(300), ..Settings::default() };
    let opened = async |script: &str| {
        let room = Room::new(TargetKind::Mcp);
        target(script).open(&room.channel, &quick).await.map(drop).unwrap_err()
    };
    assert!(matches!(opened("cat >/dev/null").await, TargetError::TimedOut { .. }));
    let gone = opened("echo sorry >&2; exit 3").await.to_string();
    assert!(gone.contains("exit status: 3") && gone.contains("sorry"), "{gone}");
    let refused =
        r#"read a; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not you"}}'; cat"#;
    assert_eq!(opened(refused).await.to_string(), "`initialize` was answered with an error: not you");
}

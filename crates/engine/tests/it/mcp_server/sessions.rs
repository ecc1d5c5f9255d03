//! Who is who over HTTP, and what HTTP refuses.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sortie_engine::modes::McpRevision;
use sortie_engine::run::RunOptions;
use sortie_wire::Limits;

use crate::mcp_server::agent::{Agent, request, serve, serve_with};

const EMPTY: &str = "
    mode: mcp_server
    state: {tools: []}";

async fn ping(agent: &Agent) -> StatusCode {
    agent.ask("ping", json!({})).await.status
}

#[tokio::test]
async fn a_session_lasts_until_it_is_deleted() {
    let (stage, serving) = serve(EMPTY).await;
    let agent = Agent::connected(&serving).await;
    let id = agent.session().to_owned();
    assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    assert_eq!(ping(&agent).await, StatusCode::OK);
    assert_eq!(agent.send(Method::DELETE, None).await.status, StatusCode::NO_CONTENT);
    for (method, body) in
        [(Method::POST, Some(request(1, "ping", &json!({})))), (Method::GET, None), (Method::DELETE, None)]
    {
        let got = agent.send(method.clone(), body.as_deref()).await;
        assert_eq!(got.status, StatusCode::NOT_FOUND, "{method}");
    }
    // The message was heard, though nobody dealt with it; and no id of a session is in the trace.
    let story = stage.story();
    assert_eq!(story[story.len() - 2..], ["they: request ping in phase-1", "we: error ping in phase-1"]);
    let connections: Vec<_> = stage.messages().iter().map(|message| message.connection.clone()).collect();
    assert_eq!(connections[0], "session-1");
    assert!(!connections.contains(&id));
}

#[tokio::test]
async fn who_has_no_session_is_answered_all_the_same() {
    let (_stage, serving) = serve(EMPTY).await;
    let agent = Agent::new(&serving);
    assert_eq!(agent.ask("tools/list", json!({})).await.result(), json!({"tools": []}));
    assert_eq!(agent.send(Method::DELETE, None).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_version_that_is_offered_is_spoken() {
    let (_stage, serving) = serve(EMPTY).await;
    for (offered, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": offered, "capabilities": {}});
        let got = Agent::new(&serving).ask("initialize", params).await;
        assert_eq!(got.result()["protocolVersion"], spoken, "{offered}");
    }
}

#[tokio::test]
async fn what_the_document_or_the_user_says_of_the_version_holds() {
    let offer = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let document = "
    mode: mcp_server
    state: {protocol_version: banana, server_info: {name: x, n: 1.0}, instructions: 'obey {{request.clientInfo.name}}'}";
    let (_stage, serving) = serve(document).await;
    let got = Agent::new(&serving).ask("initialize", offer.clone()).await;
    assert!(got.messages[0].contains(r#""protocolVersion":"banana""#), "{got:?}");
    assert!(
        got.messages[0].contains(r#""serverInfo":{"name":"x","n":1.0},"instructions":"obey ""#),
        "{got:?}"
    );
    let agent = Agent::connected(&serving).await.with("mcp-protocol-version", "banana");
    assert_eq!(ping(&agent).await, StatusCode::OK);

    let forced = RunOptions { wire: McpRevision::Version("2024-11-05".into()), ..RunOptions::default() };
    let (_stage, serving) = serve_with(EMPTY, forced).await;
    let got = Agent::new(&serving).ask("initialize", offer).await;
    assert_eq!(got.result()["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_refused() {
    let (stage, serving) = serve(EMPTY).await;
    let agent = Agent::connected(&serving).await;
    assert_eq!(ping(&agent.with("mcp-protocol-version", "2025-03-26")).await, StatusCode::OK);
    let odd = agent.with("mcp-protocol-version", "1.0");
    assert_eq!(ping(&odd).await, StatusCode::BAD_REQUEST);
    assert_eq!(odd.send(Method::GET, None).await.status, StatusCode::BAD_REQUEST);
    let story = stage.story();
    assert_eq!(story.last().unwrap(), "we: error ping in phase-1");
}

#[tokio::test]
async fn an_answer_comes_as_the_client_takes_it() {
    let (_stage, serving) = serve(EMPTY).await;
    let agent = Agent::connected(&serving).await;
    for (accept, stream) in [
        ("application/json, text/event-stream", false),
        ("application/json", false),
        ("*/*", false),
        ("text/event-stream", true),
        ("text/event-stream, application/json", true),
    ] {
        let got = agent.with("accept", accept).ask("ping", json!({})).await;
        assert_eq!((got.is_stream, got.result()), (stream, json!({})), "{accept}");
    }
    let got = agent.with("accept", "text/html").ask("ping", json!({})).await;
    assert_eq!((got.status, got.answer()["id"].clone()), (StatusCode::NOT_ACCEPTABLE, json!(7)));
    let got = agent.with("accept", "application/json").send(Method::GET, None).await;
    assert_eq!(got.status, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_unless_they_are_allowed() {
    let options = RunOptions { hosts: vec!["attacker.example".into()], ..RunOptions::default() };
    let (_stage, serving) = serve_with(EMPTY, options).await;
    let agent = Agent::connected(&serving).await;
    for (header, value, status) in [
        ("host", "evil.example", StatusCode::FORBIDDEN),
        ("origin", "http://evil.example", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
        ("host", "localhost:1", StatusCode::OK),
        ("origin", "http://127.0.0.1:3", StatusCode::OK),
        ("host", "attacker.example", StatusCode::OK),
    ] {
        assert_eq!(ping(&agent.with(header, value)).await, status, "{header}: {value}");
    }
}

#[tokio::test]
async fn other_methods_and_places_are_refused() {
    let (_stage, serving) = serve(EMPTY).await;
    let mut agent = Agent::new(&serving);
    assert_eq!(agent.send(Method::PUT, Some("{}")).await.status, StatusCode::METHOD_NOT_ALLOWED);
    agent.url = serving.url.replace("/mcp", "/elsewhere");
    assert_eq!(agent.send(Method::POST, Some("{}")).await.status, StatusCode::NOT_FOUND);
    agent.url = format!("{}/", serving.url);
    assert_eq!(ping(&agent).await, StatusCode::OK);
}

#[tokio::test]
async fn what_is_no_message_gets_the_error_it_deserves_and_is_written_down() {
    let (stage, serving) = serve(EMPTY).await;
    let agent = Agent::connected(&serving).await;
    let deep = "[".repeat(100_000);
    for (body, code) in [
        ("hello", -32700),
        ("{\"a\":", -32700),
        (deep.as_str(), -32700),
        ("{}", -32600),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
    ] {
        let got = agent.post(body).await;
        assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, code), "{body:.40}");
    }
    let heard = stage.messages().into_iter().filter(|message| message.surfaces.is_empty());
    let texts: Vec<_> = heard.map(|message| message.content.text().into_owned()).collect();
    assert_eq!((texts.len(), texts[0].as_str()), (16, "hello"));
    let got = agent.ask("tools/dance", json!({})).await;
    assert_eq!((got.status, got.code()), (StatusCode::OK, -32601));
}

#[tokio::test]
async fn a_batch_is_answered_where_the_revision_has_them() {
    let (stage, serving) = serve(EMPTY).await;
    let batch = format!(
        r#"[{},{{"jsonrpc":"2.0","method":"notifications/x"}},{},7,[1]]"#,
        request(1, "ping", &json!({})),
        request("b", "tools/list", &json!({}))
    );
    let agent = Agent::offering(&serving, "2025-03-26", &json!({})).await;
    let got = agent.post(&batch).await;
    let answers: Vec<Value> = serde_json::from_str(&got.messages[0]).unwrap();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(answers[1]["result"], json!({"tools": []}));
    assert_eq!((answers[2]["error"]["code"].as_i64(), answers.len()), (Some(-32600), 4));
    assert!(stage.story().contains(&"they: notification notifications/x in phase-1".to_owned()));
    let only = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    assert_eq!(agent.post(only).await.status, StatusCode::ACCEPTED);

    let agent = Agent::connected(&serving).await;
    let got = agent.post(&batch).await;
    assert_eq!((got.status, got.code()), (StatusCode::BAD_REQUEST, -32600));
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let limits = Limits { message_bytes: 10_000, ..Limits::default() };
    let (_stage, serving) = serve_with(EMPTY, RunOptions { limits, ..RunOptions::default() }).await;
    let agent = Agent::connected(&serving).await;
    let got = agent.post(&"x".repeat(10_001)).await;
    assert_eq!(got.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(ping(&agent).await, StatusCode::OK);
}

#[tokio::test]
async fn sessions_that_nobody_ends_do_not_pile_up() {
    let (_stage, serving) = serve(EMPTY).await;
    let first = Agent::connected(&serving).await;
    let kept = Agent::connected(&serving).await;
    let events = kept.listen().await;
    let single = Agent::new(&serving);
    for _ in 0..1030 {
        let got = single.ask("initialize", json!({"protocolVersion": "2025-11-25"})).await;
        assert_eq!(got.status, StatusCode::OK);
    }
    assert_eq!(ping(&first).await, StatusCode::NOT_FOUND);
    assert_eq!(ping(&kept).await, StatusCode::OK, "someone who listens is there");
    drop(events);
}

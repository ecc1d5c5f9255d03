//! An MCP client against servers that do not do what they should.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stage::mcp::{answers_everything, one_phase, result, start, usual};
use crate::stage::{Connection, Peer, content};
use serde_json::json;

#[tokio::test]
async fn a_target_that_refuses_is_named_and_redirects_are_not_followed() {
    let elsewhere = Peer::start(answers_everything).await;
    let location = format!("location: {}\r\n", elsewhere.url);
    let cases = [
        ("401 No", String::new(), "who are you", "HTTP status 401: who are you"),
        ("307 There", location, "", "HTTP status 307"),
        ("404 No", String::new(), "nothing", "HTTP status 404: nothing"),
        (
            "200 OK",
            String::new(),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"go"}}"#,
            "an error: go",
        ),
    ];
    for (status, headers, body, sentence) in cases {
        let stage = one_phase("{method: tools/list}");
        let answer = (status, headers.clone(), body);
        let peer = Peer::start(move |_, mut connection: Connection| {
            let (status, headers, body) = answer.clone();
            async move { connection.answer(status, &headers, body).await }
        })
        .await;
        stage.returned(start(&stage, &peer)).await;
        let failures = stage.failures();
        assert!(failures[0].0 == "target_refused", "{status}: {failures:?}");
        assert!(failures[0].1.ends_with(sentence), "{status}: {failures:?}");
    }
    assert!(elsewhere.got().is_empty(), "a redirect was followed");
}

#[tokio::test]
async fn answers_that_are_none_are_recorded_and_never_a_pass() {
    let cases: [(&str, &str, &str); 4] = [
        ("200 OK", "garbage", "what came is not an answer"),
        ("200 OK", r#"{"jsonrpc":"2.0","id":99,"result":{}}"#, "what came is not an answer"),
        ("500 Oh", "<html>", "HTTP status 500: <html>"),
        ("200 OK", "", "what came is not an answer"),
    ];
    for (status, body, sentence) in cases {
        let stage = one_phase("{method: tools/call}, {method: prompts/list}");
        let peer = Peer::start(move |request, connection| async move {
            if let Some((_, mut connection)) = usual(request, connection).await {
                connection.answer(status, "content-type: application/json\r\n", body).await;
            }
        })
        .await;
        let playing = start(&stage, &peer);
        // The run goes on.
        stage.until("phase-1: agent prompts/list").await;
        stage.ended(playing).await;
        let failures = stage.failures();
        assert_eq!(failures[0].0, "protocol_error", "{body}");
        assert!(failures[0].1.contains(sentence), "{body}: {failures:?}");
        let recorded = stage.messages().iter().any(|message| content(message) == body);
        assert!(recorded || body.is_empty(), "{body}");
    }
}

#[tokio::test]
async fn a_stream_of_garbage_around_an_answer_is_recorded() {
    let stage = one_phase("{method: tools/call}");
    let peer = Peer::start(|request, connection| async move {
        let Some((request, mut connection)) = usual(request, connection).await else { return };
        connection.events().await;
        connection.raw(b"\xff\x00\r\rdata: {\n\ndata: \xff\xfe\n\nevent: ?\ndata: 3\n\n").await;
        connection.event(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).await;
        connection.event(r#"{"jsonrpc":"2.0","method":7}"#).await;
        connection.event(r#"[{"jsonrpc":"2.0","method":"notifications/x"},[]]"#).await;
        connection.raw(format!("data: {}", result(&request, &json!({})))).await;
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("phase-1: agent tools/call").await;
    stage.ended(playing).await;
    let story = stage.story();
    assert_eq!(story.iter().filter(|line| *line == "phase-1: agent ").count(), 6, "{story:#?}");
    assert!(story.contains(&"phase-1: agent notifications/x".to_owned()), "{story:#?}");
    assert_eq!(stage.failures(), []);
}

#[tokio::test]
async fn a_stream_that_never_ends_ends_with_the_run() {
    let stage = one_phase("{method: tools/call}");
    let events = Arc::new(AtomicUsize::new(0));
    let count = events.clone();
    let peer = Peer::start(move |request, connection| {
        let events = events.clone();
        async move {
            let Some((_, mut connection)) = usual(request, connection).await else { return };
            connection.events().await;
            while connection.event(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#).await {
                events.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until_that("many events", |_| count.load(Ordering::Relaxed) > 1000).await;
    assert!(stage.actor.is_working());
    stage.ended(playing).await;
}

#[tokio::test]
async fn a_server_that_hangs_up_is_a_protocol_error() {
    let stage = one_phase("{method: tools/call}, {method: prompts/list}");
    let peer = Peer::start(|request, connection| async move {
        drop(usual(request, connection).await);
    })
    .await;
    let playing = start(&stage, &peer);
    stage.until("phase-1: agent prompts/list").await;
    stage.ended(playing).await;
    assert_eq!(stage.failures()[0].0, "protocol_error");
}

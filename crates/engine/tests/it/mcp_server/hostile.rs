//! Peers that do not keep to anything.

use std::net::SocketAddr;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::json;
use sortie_engine::modes::Serving;
use sortie_engine::run::RunOptions;
use sortie_wire::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::mcp_server::agent::{Agent, named, request, serve, serve_with, within};

const SERVER: &str = "
    mode: mcp_server
    phases:
      - name: one
        state:
          tools:
            - name: big
              responses: [{content: [{type: text, text: '{{request.arguments.text}}'}]}]
            - name: asks
              responses: [{content: [], x-sortie: {during: [{send: {method: ping}}, {wait_ms: 20}]}}]
            - name: multiplies
              responses: [{content: [{type: text, text: '{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}{{request.x}}'}]}]
        trigger: {event: notifications/tick, count: 1000000}
      - name: two";

fn address(serving: &Serving) -> SocketAddr {
    serving.url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap()
}

async fn is_well(serving: &Serving) {
    let agent = Agent::connected(serving).await;
    assert_eq!(agent.ask("ping", json!({})).await.result(), json!({}));
}

#[tokio::test]
async fn garbage_on_the_socket_is_nobody_elses_problem() {
    let (_stage, serving) = serve(SERVER).await;
    for garbage in [
        &b"\x00\xff\xfe garbage\r\n\r\n"[..],
        b"GET",
        b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut stream = TcpStream::connect(address(&serving)).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        let _ = stream.shutdown().await;
        let mut rest = Vec::new();
        let _ = within(stream.read_to_end(&mut rest)).await;
    }
    is_well(&serving).await;
}

#[tokio::test]
async fn a_hundred_megabytes_are_refused_before_they_are_read() {
    let (_stage, serving) = serve(SERVER).await;
    let mut stream = TcpStream::connect(address(&serving)).await.unwrap();
    stream
        .write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 104857600\r\n\r\n")
        .await
        .unwrap();
    let mut head = [0; 12];
    within(stream.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 413");
    is_well(&serving).await;
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused_and_the_others_stay() {
    let limits = Limits { streams: 20, ..Limits::default() };
    let (_stage, serving) = serve_with(SERVER, RunOptions { limits, ..RunOptions::default() }).await;
    let agent = Agent::connected(&serving).await;
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(agent.listen().await);
    }
    for _ in 0..5 {
        assert_eq!(agent.send(Method::GET, None).await.status, StatusCode::SERVICE_UNAVAILABLE);
        let got = agent.with("accept", "text/event-stream").ask("ping", json!({})).await;
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(agent.ask("ping", json!({})).await.status, StatusCode::OK);
    drop(open);
    // The server tells nobody that it has noticed; whoever asks finds out.
    let room = async { while agent.status(Method::GET).await != StatusCode::OK {} };
    within(room).await;
    is_well(&serving).await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_nobody_up() {
    let limits =
        Limits { queued_bytes: 1 << 20, write_timeout: Duration::from_millis(200), ..Limits::default() };
    let (stage, serving) = serve_with(SERVER, RunOptions { limits, ..RunOptions::default() }).await;
    let agent = Agent::connected(&serving).await;
    // A large answer to someone who never reads it.
    let body = request(1, "tools/call", &json!({"name": "big", "arguments": {"text": "x".repeat(6 << 20)}}));
    let mut stream = TcpStream::connect(address(&serving)).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stage.until("we: response tools/call in one").await;
    is_well(&serving).await;
    // On a stream, an answer that does not fit is not sent.
    let got = agent.with("accept", "text/event-stream").post(&body).await;
    assert!(got.messages.is_empty(), "{:.200?}", got.messages);
    is_well(&serving).await;
}

#[tokio::test]
async fn who_hangs_up_in_the_middle_of_a_call_is_forgotten() {
    let (stage, serving) = serve(SERVER).await;
    let agent = Agent::connected(&serving).await;
    for _ in 0..50 {
        let mut events = agent.stream(Method::POST, Some(&request(7, "tools/call", &named("asks")))).await;
        events.message().await;
        drop(events);
    }
    // Half of a socket is closed: the request is there, and nobody listens.
    let mut stream = TcpStream::connect(address(&serving)).await.unwrap();
    let body = request(1, "tools/call", &named("asks"));
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    is_well(&serving).await;
    agent.send(Method::DELETE, None).await;
    stage.end();
    within(serving.done).await.unwrap();
}

#[tokio::test]
async fn calls_that_wait_for_their_client_do_not_pile_up() {
    let (stage, serving) = serve(SERVER).await;
    let mut agent = Agent::new(&serving);
    agent.url = serving.url.replace("/mcp", "/sse");
    let mut events = agent.listen().await;
    let endpoint = events.event().await.unwrap();
    agent.url = serving.url.replace("/mcp", std::str::from_utf8(&endpoint.data).unwrap());
    // All with one id, so that ids are no way around.
    for _ in 0..1030 {
        agent.post(&request(7, "tools/call", &named("asks"))).await;
    }
    let mut refused = 0;
    while refused == 0 {
        refused += usize::from(events.message().await["error"]["code"] == -32603);
    }
    is_well(&serving).await;
    stage.end();
    within(serving.done).await.unwrap();
}

#[tokio::test]
async fn templates_do_not_multiply_what_a_peer_sends_without_end() {
    let (_stage, serving) = serve(SERVER).await;
    let agent = Agent::connected(&serving).await;
    let body = json!({"name": "multiplies", "x": "y".repeat(7 << 20)});
    assert_eq!(agent.ask("tools/call", body).await.code(), -32603);
    is_well(&serving).await;
}

#[tokio::test]
async fn floods_of_everything_odd_leave_the_server_as_it_was() {
    let (stage, serving) = serve(SERVER).await;
    let agent = Agent::connected(&serving).await;
    let mut tasks = tokio::task::JoinSet::new();
    for at in 0..200 {
        let agent = agent.with("x-test", "1");
        tasks.spawn(async move {
            let body = match at % 8 {
                0 => "{".repeat(50_000),
                1 => format!("[{}]", vec!["1"; 10_000].join(",")),
                2 => json!({"jsonrpc": "2.0", "id": at, "result": {}}).to_string(),
                3 => json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [at]}}).to_string(),
                4 => json!({"jsonrpc": "2.0", "method": "notifications/tick"}).to_string(),
                5 => request(at, &"m".repeat(10_000), &json!(null)),
                6 => request(at, "tools/call", &json!("not an object")),
                _ => request(at, "resources/read", &json!({"uri": "x".repeat(100_000)})),
            };
            agent.post(&body).await.status
        });
    }
    let statuses = tasks.join_all().await;
    assert!(statuses.iter().all(|status| status.as_u16() < 500), "{statuses:?}");
    is_well(&serving).await;
    assert!(stage.story().iter().all(|line| !line.starts_with("failed")));
}

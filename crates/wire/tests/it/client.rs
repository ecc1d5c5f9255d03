//! A client among targets who do not mean well.

use crate::peer;
use std::time::Duration;

use crate::peer::{Served, loopback, status, within};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use sortie_wire::Limits;
use sortie_wire::http::{
    Answer, Body, Client, ClientError, ClientOptions, EventStream, StreamError, Streams, read_body,
    wait_until_accepts,
};
use sortie_wire::sse::{self, TooLong};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

fn client(limits: Limits) -> Client {
    Client::new(ClientOptions { limits, ..ClientOptions::default() }).unwrap()
}

/// A target that reads a little and then says these bytes and hangs up.
async fn saying(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind(loopback()).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    url
}

async fn events(client: &Client, url: &str) -> EventStream {
    match within(client.get(url, HeaderMap::new())).await.unwrap().body {
        Answer::Events(events) => *events,
        Answer::Bytes(bytes) => panic!("{bytes:?}"),
    }
}

#[tokio::test]
async fn an_answer_is_what_the_target_said() {
    let served = Served::start(Limits::default(), |request, _| async move {
        let method = request.method().to_string();
        let seen = request.headers().get(AUTHORIZATION).cloned();
        let body = read_body(request.into_body(), &Limits::default()).await.unwrap();
        let mut response = Response::new(Body::from(Bytes::from([method.as_bytes(), b" ", &body].concat())));
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert("seen", seen.unwrap());
        response
    })
    .await;
    let secret = HeaderValue::from_static("Bearer hunter2");
    let options = ClientOptions { headers: vec![(AUTHORIZATION, secret)], ..ClientOptions::default() };
    assert!(!format!("{options:?}").contains("hunter2"));
    let client = Client::new(options).unwrap();
    assert!(!format!("{client:?}").contains("hunter2"));

    let url = served.url("/");
    for (sent, said) in [
        (client.post(&url, HeaderMap::new(), "{}".into()).await, "POST {}"),
        (client.get(&url, HeaderMap::new()).await, "GET "),
        (client.send(Method::DELETE, &url, HeaderMap::new(), None).await, "DELETE "),
    ] {
        let response = sent.unwrap();
        assert_eq!(response.status, StatusCode::IM_A_TEAPOT);
        assert_eq!(response.headers["seen"], "Bearer hunter2");
        assert!(matches!(response.body, Answer::Bytes(bytes) if bytes == said));
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let served = Served::start(Limits::default(), |request, _| async move {
        assert_eq!(request.uri().path(), "/", "the client went where it was sent");
        let mut response = status(StatusCode::TEMPORARY_REDIRECT);
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/elsewhere"));
        response
    })
    .await;
    let response =
        client(Limits::default()).post(&served.url("/"), HeaderMap::new(), "{}".into()).await.unwrap();
    assert_eq!(response.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(response.headers[LOCATION], "/elsewhere");
}

#[tokio::test]
async fn a_target_that_is_not_there_is_told_from_one_that_misbehaves() {
    let client = client(Limits { message_bytes: 10, ..Limits::default() });
    let free = TcpListener::bind(loopback()).await.unwrap().local_addr().unwrap();
    let get = |url: String| {
        let client = client.clone();
        async move { within(client.get(&url, HeaderMap::new())).await.map(|answer| answer.status) }
    };
    assert!(matches!(get(format!("http://{free}/")).await, Err(ClientError::Refused(_))));
    assert!(matches!(get("no url".into()).await, Err(ClientError::Invalid(_))));
    assert!(matches!(get(saying(b"").await).await, Err(ClientError::Broken(_))));
    assert!(matches!(get(saying(b"SSH-2.0-OpenSSH_9.7\r\n").await).await, Err(ClientError::Broken(_))));
    let short = saying(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel").await;
    assert!(matches!(get(short).await, Err(ClientError::Broken(_))));
    let declared = saying(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000000\r\n\r\n").await;
    assert_eq!(get(declared).await, Err(ClientError::TooLong(10)));
    let endless = saying(b"HTTP/1.1 200 OK\r\n\r\n01234567890123456789").await;
    assert_eq!(get(endless).await, Err(ClientError::TooLong(10)));
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_not_waited_for() {
    let served = Served::start(Limits::default(), |_, _| std::future::pending()).await;
    let timeout = Duration::from_millis(50);
    let client = Client::new(ClientOptions { answer_timeout: timeout, ..ClientOptions::default() }).unwrap();
    let answer = within(client.get(&served.url("/"), HeaderMap::new())).await;
    assert_eq!(answer.unwrap_err(), ClientError::TimedOut);
}

#[tokio::test]
async fn events_come_as_they_are_sent_and_the_stream_outlives_a_long_one() {
    let limits = Limits { message_bytes: 1000, ..Limits::default() };
    let (opened, mut senders) = tokio::sync::mpsc::unbounded_channel();
    let streams = Streams::new(&Limits::default());
    let served = Served::start(Limits::default(), move |_, _| {
        let (sender, body) = streams.open().unwrap();
        opened.send(sender).unwrap();
        let mut response = Response::new(Body::from(body));
        let kind = HeaderValue::from_static("Text/Event-Stream; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        async { response }
    })
    .await;
    let client = client(limits);
    let mut stream = events(&client, &served.url("/")).await;
    let sender = within(senders.recv()).await.unwrap();

    for said in ["one", "two"] {
        sender.send(sse::encode(None, Some(said), said.as_bytes())).await.unwrap();
        assert_eq!(within(stream.next()).await.unwrap().unwrap().data, said);
    }
    let flood = tokio::spawn({
        let sender = sender.clone();
        async move {
            let piece = Bytes::from(vec![b'x'; 1 << 20]);
            for _ in 0..100 {
                sender.send(piece.clone()).await.unwrap();
            }
            sender.send("\n\ndata: three\n\ndata: brok".into()).await.unwrap();
        }
    });
    assert_eq!(within(stream.next()).await, Some(Err(StreamError::TooLong(TooLong(1000)))));
    assert_eq!(within(stream.next()).await.unwrap().unwrap().data, "three");
    flood.await.unwrap();
    sender.cut().await;
    assert!(matches!(within(stream.next()).await, Some(Err(StreamError::Broken(_)))));
    assert_eq!(within(stream.next()).await, None);
    assert_eq!(stream.decoder().last_id(), Some("two"));
    assert_eq!(stream.decoder().unfinished().unwrap().data, "brok");

    // And the target notices when we go.
    let stream = events(&client, &served.url("/")).await;
    let sender = within(senders.recv()).await.unwrap();
    drop(stream);
    within(sender.gone()).await;
}

#[tokio::test]
async fn one_can_wait_for_a_target() {
    let free = TcpListener::bind(loopback()).await.unwrap().local_addr().unwrap();
    let url = format!("http://{free}/mcp");
    let soon = Instant::now() + Duration::from_millis(50);
    assert!(matches!(wait_until_accepts(&url, soon).await, Err(ClientError::Refused(_))));
    assert!(matches!(wait_until_accepts("mailto:x", soon).await, Err(ClientError::Invalid(_))));

    let waiting =
        tokio::spawn(async move { wait_until_accepts(&url, Instant::now() + peer::DEADLINE).await });
    tokio::task::yield_now().await;
    let _listener = TcpListener::bind(free).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(()));
}

//! What no tap changes reaches the other side to the byte.

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use sortie_wire::http::{Body, Client, ClientOptions, Streams, read_body};
use sortie_wire::{Limits, sse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::bench::{over_http, over_stdio, process, python, url};
use super::traffic::{self, Random, Space};
use crate::peer::{Served, within};

/// How many messages cross in each direction of each test. `SORTIE_RELAY_MESSAGES=100000` for the bar of the benchmarks.
fn messages() -> usize {
    std::env::var("SORTIE_RELAY_MESSAGES").ok().map_or(1_000, |count| count.parse().unwrap())
}

/// So many messages: recorded ones, requests, notifications, answers, batches and what is not a message.
fn mixed(count: usize, space: Space) -> Vec<String> {
    let mut random = Random::new(count as u64);
    let recorded = traffic::recorded();
    let one = |at: usize| match at % 8 {
        0 | 1 => recorded[at % recorded.len()].clone(),
        2 => traffic::notification(&mut random, space),
        3 => traffic::answer(&mut random, space, &at.to_string()),
        4 => {
            let items: Vec<_> = (0..3).map(|_| traffic::notification(&mut random, space)).collect();
            format!(" [ {} ]", items.join(" ,"))
        }
        5 if at.is_multiple_of(5) => ["no json", "{\"a\":", "[]", "\u{0}", "{}"][at / 5 % 5].to_owned(),
        _ => traffic::request(&mut random, space, &at.to_string()),
    };
    (0..count).map(one).collect()
}

/// Reads as many bytes as are expected, and compares line by line, so that a difference is shown where it is.
async fn expect_lines(reader: &mut (impl tokio::io::AsyncRead + Unpin), expected: &[u8]) {
    let mut came = vec![0; expected.len()];
    reader.read_exact(&mut came).await.unwrap();
    for (came, expected) in came.split(|byte| *byte == b'\n').zip(expected.split(|byte| *byte == b'\n')) {
        assert_eq!(String::from_utf8_lossy(came), String::from_utf8_lossy(expected));
    }
}

#[tokio::test]
async fn lines_cross_to_the_byte_in_both_directions() {
    let endings = ["\n", "\n", "\r\n", "\n\n", "  \n"];
    let lines = mixed(messages(), Space::OnOneLine);
    let lines: Vec<_> =
        lines.iter().zip(endings.iter().cycle()).flat_map(|(line, ending)| [line.as_str(), ending]).collect();
    let lines = lines.concat();
    // What the server says is what the client said: `cat` changes nothing either.
    let (mut client, running) = over_stdio(process(&["cat"]), Limits::default());
    let said = lines.clone();
    let mut writer = client.writer;
    let saying = tokio::spawn(async move {
        writer.write_all(said.as_bytes()).await.unwrap();
        writer
    });
    within_minutes(expect_lines(&mut client.reader, lines.as_bytes())).await;
    drop(saying.await.unwrap());
    let notes = running.stop().await;
    assert!(notes.messages.lock().len() >= 2 * messages(), "every message is seen in both directions");
}

/// A server that answers each body with one of its own, and keeps what it was sent.
async fn answering(
    answers: Vec<(&'static str, Bytes)>,
    streamed: bool,
) -> (Served, tokio::sync::mpsc::Receiver<Arrived>) {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let (answers, streams) = (std::sync::Arc::new(answers), Streams::new(&Limits::default()));
    let next = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let served = Served::start(Limits::default(), move |request, _| {
        let (answers, streams, sender, next) =
            (answers.clone(), streams.clone(), sender.clone(), next.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = read_body(body, &Limits::default()).await.unwrap();
            sender.send((parts.method, parts.uri.to_string(), parts.headers, body)).await.unwrap();
            let (kind, answer) =
                answers[next.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % answers.len()].clone();
            let mut response = if streamed {
                let (sender, body) = streams.open().unwrap();
                tokio::spawn(async move {
                    for piece in answer.chunks(7) {
                        sender.send(Bytes::copy_from_slice(piece)).await.unwrap();
                    }
                });
                Response::new(body.into())
            } else {
                Response::new(Body::from(answer))
            };
            let headers = response.headers_mut();
            headers.insert("content-type", kind.parse().unwrap());
            headers.insert("mcp-session-id", "s-1".parse().unwrap());
            headers.append("x-twice", "a".parse().unwrap());
            headers.append("x-twice", "b".parse().unwrap());
            *response.status_mut() = StatusCode::OK;
            response
        }
    });
    (served.await, receiver)
}

type Arrived = (Method, String, HeaderMap, Bytes);

/// Sends messages through a relay to a server at a URL, and compares both directions.
async fn cross_http(answers: Vec<(&'static str, Bytes)>, streamed: bool, count: usize) {
    let (server, mut arrived) = answering(answers.clone(), streamed).await;
    let (relay, running) = over_http(url(&server.url("/some/path?key=1")), Limits::default()).await;
    let client = Client::new(ClientOptions::default()).unwrap();
    for (at, message) in mixed(count, Space::OverLines).into_iter().enumerate() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?Z3LDvMOfZQ==?="),
            ("mcp-param-region", "eu"),
            ("last-event-id", "7.1"),
            ("authorization", "Bearer x"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        let method = [Method::POST, Method::POST, Method::DELETE, Method::GET][at % 4].clone();
        let body = (method == Method::POST).then(|| Bytes::from(message.clone()));
        let asked = client.open(method.clone(), &relay, headers.clone(), body);
        let (answer, came) = tokio::join!(within(asked), within(arrived.recv()));
        let (came_method, uri, came_headers, came_body) = came.unwrap();
        assert_eq!((came_method, uri.as_str()), (method.clone(), "/some/path?key=1"));
        assert_eq!(came_body, if method == Method::POST { message } else { String::new() });
        for (name, value) in &headers {
            assert_eq!(came_headers.get(name), Some(value), "{name}");
        }
        let mut answer = answer.unwrap();
        let mut body = Vec::new();
        while let Some(piece) = within(answer.body.next()).await {
            body.extend_from_slice(&piece.unwrap());
        }
        let (kind, expected) = &answers[at % answers.len()];
        assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(expected));
        assert_eq!(answer.headers["content-type"], *kind);
        assert_eq!(answer.headers["mcp-session-id"], "s-1");
        assert_eq!(answer.headers.get_all("x-twice").iter().count(), 2);
    }
    running.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn requests_and_answers_of_http_cross_to_the_byte() {
    let answers = mixed(messages().min(5_000), Space::OverLines);
    let mut answers: Vec<_> =
        answers.into_iter().map(|text| ("application/json", Bytes::from(text))).collect();
    answers.push(("text/html; charset=utf-8", Bytes::from_static(b"<h1>\xff Not found</h1>")));
    within_minutes(cross_http(answers, false, messages())).await;
}

#[tokio::test]
async fn streams_of_events_cross_to_the_byte() {
    let mut random = Random::new(7);
    let messages_of_streams = mixed(200, Space::OverLines);
    let streams = messages_of_streams.chunks(4).map(|messages| {
        let mut stream = Vec::new();
        for message in messages {
            match random.below(5) {
                0 => stream.extend_from_slice(b": ping\r\n\r\n"),
                1 => stream.extend_from_slice(b"id: 1.7\r\nretry: 5000\ndata:\n\n"),
                2 => stream.extend_from_slice(b"event: other\rdata: {}\r\rx: y\n\n"),
                _ => stream.extend_from_slice(&sse::encode(Some("message"), Some("é"), message.as_bytes())),
            }
        }
        // An event that is not finished crosses too.
        stream.extend_from_slice(b"data: {\"jsonrpc\"");
        ("text/event-stream", Bytes::from(stream))
    });
    let streams: Vec<_> = streams.collect();
    within_minutes(cross_http(streams, true, messages() / 5)).await;
}

/// The server repeats the request in its answer, so that one comparison shows both directions.
const REPEATS: &str = "    say(b'{\"jsonrpc\": \"2.0\", \"n\": 1.00, \"id\": ' + id + b' ,\"result\":{\"said\":' + line + b'}}')";

fn repeated(request: &str, id: usize) -> String {
    format!("{{\"jsonrpc\": \"2.0\", \"n\": 1.00, \"id\": {id} ,\"result\":{{\"said\":{request}}}}}")
}

#[tokio::test]
async fn messages_cross_from_http_to_lines_and_back() {
    let (relay, running) = over_http(python(REPEATS), Limits::default()).await;
    let client = Client::new(ClientOptions::default()).unwrap();
    let mut random = Random::new(3);
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    let crossing = async {
        for id in 0..messages() {
            let request = traffic::request(&mut random, Space::OverLines, &id.to_string());
            for accept in ["application/json", "text/event-stream"] {
                headers.insert("accept", accept.parse().unwrap());
                let answer = client.post(&relay, headers.clone(), request.clone().into()).await.unwrap();
                let data = match answer.body {
                    sortie_wire::http::Answer::Bytes(bytes) => bytes,
                    sortie_wire::http::Answer::Events(mut events) => {
                        within(events.next()).await.unwrap().unwrap().data
                    }
                };
                // On a line, line breaks between tokens are spaces.
                let expected = repeated(&request.replace(['\n', '\r'], " "), id);
                assert_eq!(String::from_utf8_lossy(&data), expected);
            }
        }
    };
    within_minutes(crossing).await;
    running.stop().await;
}

#[tokio::test]
async fn messages_cross_from_lines_to_http_and_back() {
    let served = Served::start(Limits::default(), |request, _| async {
        let (parts, body) = request.into_parts();
        let body = read_body(body, &Limits::default()).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        let id = text.rsplit("\"id\"").next().unwrap().trim_start_matches([' ', '\t', ':']);
        let id: usize = id.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
        assert_eq!(parts.headers["accept"], "application/json, text/event-stream");
        let answer = repeated(&text, id);
        let mut response = if id.is_multiple_of(2) {
            Response::new(Body::from(answer))
        } else {
            Response::new(Body::from(sse::encode(None, None, answer.as_bytes())))
        };
        let kind = if id.is_multiple_of(2) { "application/json" } else { "text/event-stream" };
        response.headers_mut().insert("content-type", kind.parse().unwrap());
        response
    })
    .await;
    let (mut client, running) = over_stdio(url(&served.url("/mcp")), Limits::default());
    let mut random = Random::new(4);
    let crossing = async {
        for id in 0..messages() {
            // Ids of requests are found by the last `"id"`, so that nothing else may have that name.
            let request = traffic::request(&mut random, Space::OnOneLine, &id.to_string());
            client.say(&request).await;
            assert_eq!(client.hear().await, repeated(&request, id));
        }
    };
    within_minutes(crossing).await;
    running.stop().await;
    served.stop().await;
}

#[tokio::test]
async fn what_is_longer_than_may_be_held_streams_through_and_is_told_by_its_digest() {
    let limits = Limits { message_bytes: 1 << 16, ..Limits::default() };
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}", "x".repeat(1 << 21));
    let (server, mut arrived) = answering(vec![("application/json", long.clone().into())], false).await;
    let (relay, running) = over_http(url(&server.url("/mcp")), limits).await;
    let client = Client::new(ClientOptions::default()).unwrap();
    let question = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
    let asked = client.open(Method::POST, &relay, HeaderMap::new(), Some(question));
    let (answer, _) = tokio::join!(within(asked), within(arrived.recv()));
    let mut body = answer.unwrap().body;
    let mut length = 0;
    while let Some(piece) = within(body.next()).await {
        length += piece.unwrap().len();
    }
    assert_eq!(length, long.len());
    let notes = running.stop().await;
    let [(told, digest)] = notes.overlong.lock().clone().try_into().unwrap();
    assert_eq!((told, digest.len()), (long.len() as u64, 64));

    let (mut client, running) = over_stdio(process(&["cat"]), limits);
    let line = format!("{long}\n{{}}\n");
    let said = line.clone();
    let mut writer = client.writer;
    let saying = tokio::spawn(async move { writer.write_all(said.as_bytes()).await.map(|()| writer) });
    within(expect_lines(&mut client.reader, line.as_bytes())).await;
    drop(saying.await.unwrap());
    let notes = running.stop().await;
    assert_eq!(notes.overlong.lock().len(), 2, "once on the way there, once on the way back");
}

/// A hundred thousand messages take longer than the deadline of other tests.
async fn within_minutes<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(std::time::Duration::from_mins(10), future).await.expect("nothing happened in time")
}

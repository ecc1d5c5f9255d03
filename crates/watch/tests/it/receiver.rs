//! The OTLP receiver.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use sortie_watch::{OtlpInput, WatchOptions};
use sortie_wire::http::{Answer, Client, ClientOptions};

use crate::traffic::{Running, export, ids, loader, options, rows, scanned, span, wait_until};

pub(crate) fn receiving(folder: &Path) -> (WatchOptions, std::path::PathBuf) {
    let (mut options, out) = options(folder);
    options.otlp = Some(OtlpInput { address: "127.0.0.1:0".parse().unwrap(), token: None });
    (options, out)
}

async fn post(
    running: &Running,
    path: &str,
    headers: &[(&'static str, &str)],
    body: impl Into<Bytes>,
) -> (u16, Bytes, HeaderMap) {
    post_to(&format!("http://{}{path}", running.address.unwrap()), headers, body).await
}

pub(crate) async fn post_to(
    url: &str,
    headers: &[(&'static str, &str)],
    body: impl Into<Bytes>,
) -> (u16, Bytes, HeaderMap) {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    let response = Client::new(ClientOptions::default()).unwrap().post(url, map, body.into()).await.unwrap();
    let Answer::Bytes(body) = response.body else { panic!("no stream") };
    (response.status.as_u16(), body, response.headers)
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");

/// A status, and the path, headers and body of what it answers.
type Case<'c> = (u16, &'c str, Vec<(&'static str, &'c str)>, Vec<u8>);

/// The seven lowest bits.
fn low_bits(length: usize) -> u8 {
    u8::try_from(length & 0x7f).unwrap_or_default()
}

fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(low_bits(length) | 0x80);
        length >>= 7;
    }
    out.push(low_bits(length));
    out.extend_from_slice(bytes);
}

/// A span of [`span`] as protobuf.
fn encode(span: &Value) -> Vec<u8> {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect()
    };
    let mut bytes = Vec::new();
    for (number, key) in [(1, "traceId"), (2, "spanId"), (4, "parentSpanId")] {
        field(&mut bytes, number, &hex(span[key].as_str().unwrap()));
    }
    field(&mut bytes, 5, span["name"].as_str().unwrap().as_bytes());
    for (number, key) in [(7u8, "startTimeUnixNano"), (8, "endTimeUnixNano")] {
        bytes.push(number << 3 | 1);
        bytes.extend_from_slice(&span[key].as_str().unwrap().parse::<u64>().unwrap().to_le_bytes());
    }
    for attribute in span["attributes"].as_array().unwrap() {
        let (mut pair, mut value) = (Vec::new(), Vec::new());
        field(&mut value, 1, attribute["value"]["stringValue"].as_str().unwrap().as_bytes());
        field(&mut pair, 1, attribute["key"].as_str().unwrap().as_bytes());
        field(&mut pair, 2, &value);
        field(&mut bytes, 9, &pair);
    }
    let (mut scope, mut resource, mut export) = (Vec::new(), Vec::new(), Vec::new());
    field(&mut scope, 2, &bytes);
    field(&mut resource, 2, &scope);
    field(&mut export, 1, &resource);
    export
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn json_protobuf_and_gzip_give_the_findings_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (options, out) = receiving(folder.path());
    let running = Running::start(options, loader()).await;
    let file = folder.path().join("same.jsonl");
    let mut lines = String::new();
    for trace in 1..=6 {
        // Children end first, and come in another request than their parent.
        for (id, parent) in [(2, 1), (3, 1), (1, 0)] {
            let span = span(trace, id, parent, if id == 2 { "id_rsa" } else { "notes" });
            let body = export(std::slice::from_ref(&span));
            lines.extend([body.to_string(), "\n".to_owned()]);
            let (status, answer, headers) = match trace % 3 {
                0 => post(&running, "/v1/traces", &[JSON], body.to_string()).await,
                1 => post(&running, "/v1/traces", &[PROTOBUF], encode(&span)).await,
                _ => {
                    let body = gzip(body.to_string().as_bytes());
                    post(&running, "/v1/traces", &[JSON, ("content-encoding", "gzip")], body).await
                }
            };
            assert_eq!(status, 200, "{answer:?}");
            let expected: (&[u8], &str) = if trace % 3 == 1 { (b"", PROTOBUF.1) } else { (b"{}", JSON.1) };
            assert_eq!((&*answer, headers["content-type"].to_str().unwrap()), expected);
        }
    }
    std::fs::write(&file, lines).unwrap();
    let expected = scanned(&file);
    assert_eq!(expected.len(), 6);
    wait_until("all findings", || ids(&out).len() == 6).await;
    running.stop().await;
    assert_eq!(ids(&out), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_span_evaluates_its_session_again_and_moved_findings_say_which_they_replace() {
    let folder = tempfile::tempdir().unwrap();
    let (options, out) = receiving(folder.path());
    let running = Running::start(options.clone(), loader()).await;
    let send = async |running: &Running, spans: &[Value]| {
        let (status, ..) = post(running, "/v1/traces", &[JSON], export(spans).to_string()).await;
        assert_eq!(status, 200);
    };
    send(&running, &[span(1, 5, 1, "id_rsa five")]).await;
    wait_until("the first finding", || rows(&out).len() == 1).await;
    running.stop().await;
    // After a restart the same span is known, and one that was before it moves it.
    let running = Running::start(options, loader()).await;
    send(&running, &[span(1, 5, 1, "id_rsa five")]).await;
    send(&running, &[span(1, 4, 1, "id_rsa four")]).await;
    wait_until("the findings of both", || rows(&out).len() == 3).await;
    let summary = running.stop().await;
    assert_eq!((summary.repeated_messages, summary.recovered), (1, 1));
    let all = rows(&out);
    let five = all[1..].iter().find(|row| row["text"] == "id_rsa five").unwrap();
    assert_eq!(five["replaces"], all[0]["id"]);
    let file = folder.path().join("same.jsonl");
    std::fs::write(&file, export(&[span(1, 5, 1, "id_rsa five"), span(1, 4, 1, "id_rsa four")]).to_string())
        .unwrap();
    assert_eq!(ids(&out), scanned(&file));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_of_several_traces_is_one_session() {
    let folder = tempfile::tempdir().unwrap();
    let (options, out) = receiving(folder.path());
    let running = Running::start(options, loader()).await;
    let mut lines = String::new();
    for (trace, id, conversation) in [(1, 2, None), (2, 2, Some("talk")), (1, 1, Some("talk")), (3, 9, None)]
    {
        let mut span = span(trace, id, 0, "id_rsa");
        if let Some(conversation) = conversation {
            let attribute =
                serde_json::json!({"key": "gen_ai.conversation.id", "value": {"stringValue": conversation}});
            span["attributes"].as_array_mut().unwrap().push(attribute);
        }
        let body = export(&[span]).to_string();
        lines.extend([body.clone(), "\n".to_owned()]);
        assert_eq!(post(&running, "/v1/traces", &[JSON], body).await.0, 200);
    }
    let file = folder.path().join("same.jsonl");
    std::fs::write(&file, lines).unwrap();
    let expected = scanned(&file);
    wait_until("all findings", || ids(&out) == expected).await;
    running.stop().await;
    let sessions: Vec<Value> = rows(&out).iter().map(|row| row["session"].clone()).collect();
    assert!(sessions.contains(&Value::from("talk")), "{sessions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_export_is_refused_as_the_specification_says() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, out) = receiving(folder.path());
    options.otlp.as_mut().unwrap().token = Some("swordfish".to_owned());
    let running = Running::start(options, loader()).await;
    let token = ("authorization", "Bearer swordfish");
    let bomb = gzip(&vec![b' '; 9 << 20]);
    let cases: Vec<Case<'_>> = vec![
        (401, "/v1/traces", vec![JSON], b"{}".to_vec()),
        (401, "/v1/traces", vec![JSON, ("authorization", "Bearer swordfist")], b"{}".to_vec()),
        (404, "/v1/metrics", vec![JSON, token], b"{}".to_vec()),
        (415, "/v1/traces", vec![("content-type", "text/plain"), token], b"{}".to_vec()),
        (415, "/v1/traces", vec![JSON, ("content-encoding", "br"), token], b"{}".to_vec()),
        (400, "/v1/traces", vec![JSON, token], b"{\"resourceSpans\": 7}".to_vec()),
        (400, "/v1/traces", vec![PROTOBUF, token], b"\xff\xff\xff".to_vec()),
        (400, "/v1/traces", vec![JSON, ("content-encoding", "gzip"), token], b"no gzip".to_vec()),
        (413, "/v1/traces", vec![JSON, ("content-encoding", "gzip"), token], bomb),
        (413, "/v1/traces", vec![JSON, token], vec![b' '; 9 << 20]),
        (403, "/v1/traces", vec![JSON, token, ("origin", "http://evil.example")], b"{}".to_vec()),
        (200, "/v1/logs", vec![JSON, token], b"{\"resourceLogs\": []}".to_vec()),
        (200, "/v1/traces", vec![PROTOBUF, token], Vec::new()),
    ];
    for (expected, path, headers, body) in cases {
        let (status, answer, _) = post(&running, path, &headers, body).await;
        assert_eq!(status, expected, "{path} {headers:?} {answer:?}");
    }
    assert_eq!(running.stop().await.messages, 0);
    assert!(rows(&out).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_writes_all_before_it_reads_gets_the_status() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, _) = receiving(folder.path());
    options.otlp.as_mut().unwrap().token = Some("swordfish".to_owned());
    let running = Running::start(options, loader()).await;
    let address = running.address.unwrap();
    let send = move |status: &str, path: &str, headers: &str, chunked: bool| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let length = 12 << 20;
        let framing = if chunked {
            "transfer-encoding: chunked".to_owned()
        } else {
            format!("content-length: {length}")
        };
        write!(stream, "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{headers}{framing}\r\n\r\n").unwrap();
        let body = if chunked {
            [format!("{length:x}\r\n").as_bytes(), &vec![b' '; length], b"\r\n0\r\n\r\n"].concat()
        } else {
            vec![b' '; length]
        };
        // In pieces: a client that is cut off notices while it writes.
        for piece in body.chunks(64 << 10) {
            stream.write_all(piece).expect(status);
        }
        let mut answer = [0; 12];
        std::io::Read::read_exact(&mut stream, &mut answer).expect(status);
        assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {status}"));
    };
    let sent = tokio::task::spawn_blocking(move || {
        let token = "authorization: Bearer swordfish\r\n";
        for chunked in [false, true] {
            send("401", "/v1/traces", "", chunked);
            send("404", "/v1/metrics", token, chunked);
            send("413", "/v1/traces", token, chunked);
        }
    });
    sent.await.unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_others_reach_needs_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let (mut options, _) = receiving(folder.path());
    options.otlp.as_mut().unwrap().address = "0.0.0.0:0".parse().unwrap();
    let control = sortie_watch::WatchControl::default();
    let run = sortie_watch::Watch::run(options, loader(), control, std::sync::Arc::new(|_: &str| {}), |_| {});
    let refused = tokio::time::timeout(Duration::from_mins(1), run).await.unwrap();
    assert!(matches!(refused, Err(sortie_watch::WatchError::NoToken(_))), "{refused:?}");
}

//! Peers that do what no peer should. The run goes on, and takes no more memory than it may.

use std::io::{Read, Write};
use std::net::Shutdown;

use crate::harness::{Running, document, start};
use crate::raw::{Raw, address};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What the process holds in memory at most, whatever it is sent.
const MEMORY_KIB: u64 = 160 * 1024;

fn serving() -> (Running, String) {
    let mut running = start(&document("poisoned-result.yaml"), ["--max-duration", "2m"]);
    let url = running.url_of("default");
    (running, url)
}

/// It still answers, and has not grown.
fn goes_on(running: &Running, url: &str, after: &str) {
    let answered = Raw::initialized(url)
        .and_then(|mut raw| raw.post(PING))
        .unwrap_or_else(|error| panic!("{after}: {error}"));
    assert!(answered.body.contains("\"result\""), "{after}: {}", answered.body);
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < MEMORY_KIB, "{after}: {peak} KiB");
}

#[test]
fn messages_that_are_none_are_answered_with_the_errors_of_the_protocol() {
    let (running, url) = serving();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let within = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"forecast","arguments":{deep}}}}}"#
    );
    let cases: [(&str, &[u8], &str); 7] = [
        ("garbage", b"\xff\xfe\x00garbage", "-32700"),
        ("half a message", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth", "-32700"),
        ("deep JSON", deep.as_bytes(), "-32700"),
        ("deep params", within.as_bytes(), "-32700"),
        ("JSON that is not a message", b"{\"hello\":1}", "-32600"),
        ("an unknown method", br#"{"jsonrpc":"2.0","id":1,"method":"no/such/method"}"#, "-32601"),
        ("a number", b"42", "-32600"),
    ];
    for (what, body, code) in cases {
        let mut raw = Raw::initialized(&url).unwrap();
        let answered = raw.post_bytes(body).unwrap();
        assert!(answered.body.contains(code), "{what}: {} {}", answered.status, answered.body);
    }
    // A batch is answered or refused, never dropped.
    let mut raw = Raw::initialized(&url).unwrap();
    let answered = raw.post(&format!("[{PING},{PING}]")).unwrap();
    assert!(answered.body.contains("\"error\"") || answered.body.contains("\"result\""), "{}", answered.body);
    goes_on(&running, &url, "garbage");
    running.kill();
}

#[test]
fn a_hundred_megabytes_are_refused() {
    let (running, url) = serving();
    let mut raw = Raw::initialized(&url).unwrap();
    raw.send_head(100 * 1024 * 1024).unwrap();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..100 {
        // It may hang up in the middle, and rightly.
        if raw.socket().write_all(&piece).is_err() {
            break;
        }
    }
    if let Ok(answered) = raw.answer() {
        assert_eq!(answered.status, 413, "{}", answered.body);
    }
    goes_on(&running, &url, "100 MB");
    running.kill();
}

#[test]
fn a_thousand_streams_slow_readers_and_half_closed_sockets() {
    let (running, url) = serving();
    // One session may ask for its stream again and again; then each stream has a session of its own.
    let session = Raw::initialized(&url).unwrap();
    let again: Vec<_> = (0..500).filter_map(|_| session.again(&url).ok()?.listen().ok()).collect();
    assert!(again.contains(&200), "{again:?}");
    let mut open = Vec::new();
    let mut refused = 0;
    for _ in 0..500 {
        match Raw::initialized(&url).and_then(|mut raw| Ok((raw.listen()?, raw))) {
            Ok((200, raw)) => open.push(raw),
            _ => refused += 1,
        }
    }
    assert!(!open.is_empty() && refused > 0, "{} open, {refused} refused", open.len());
    drop(open);

    // Asked a lot, and never reads.
    let mut slow = Raw::initialized(&url).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{PING}",
        address(&url),
        PING.len()
    );
    slow.socket().set_nonblocking(true).unwrap();
    for _ in 0..10_000 {
        if slow.socket().write(request.as_bytes()).is_err() {
            break;
        }
    }
    goes_on(&running, &url, "a slow reader");

    let mut half = Raw::connect(&url).unwrap();
    half.socket().write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
    half.socket().shutdown(Shutdown::Write).unwrap();
    let _ = half.socket().read(&mut [0; 1024]);
    goes_on(&running, &url, "a half-closed socket");
    running.kill();
}

#[test]
fn a_foreign_host_or_origin_is_refused() {
    let (running, url) = serving();
    for header in ["Host: attacker.example", "Host: 127.0.0.1\r\nOrigin: http://attacker.example"] {
        let mut raw = Raw::connect(&url).unwrap();
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{header}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{PING}",
            PING.len()
        );
        raw.socket().write_all(request.as_bytes()).unwrap();
        assert_eq!(raw.answer().unwrap().status, 403, "{header}");
    }
    goes_on(&running, &url, "foreign hosts");
    running.kill();
}

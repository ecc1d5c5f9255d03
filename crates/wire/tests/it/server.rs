//! A listener among peers who do not mean well.

use std::sync::Mutex;
use std::time::Duration;

use crate::peer::{Served, first_line, loopback, status, within};
use bytes::Bytes;
use http::{Response, StatusCode};
use sortie_wire::Limits;
use sortie_wire::http::{BindError, Body, Listener, SendError, StreamSender, Streams, read_body};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/// Answers with the body it got, or with why it did not get one.
async fn echo(limits: Limits) -> Served {
    Served::start(limits, move |request, _| async move {
        match read_body(request.into_body(), &limits).await {
            Ok(body) => Response::new(Body::from(body)),
            Err(error) => status(error.status()),
        }
    })
    .await
}

/// Answers `/` with a stream, and hands its sender to the test; anything else with 200.
async fn streaming(limits: Limits) -> (Served, Streams, mpsc::UnboundedReceiver<StreamSender>) {
    let streams = Streams::new(&limits);
    let (opened, senders) = mpsc::unbounded_channel();
    let count = streams.clone();
    let served = Served::start(limits, move |request, _| {
        let answer = match streams.open() {
            _ if request.uri().path() != "/" => status(StatusCode::OK),
            Ok((sender, body)) => {
                opened.send(sender).unwrap();
                Response::new(Body::from(body))
            }
            Err(_) => status(StatusCode::SERVICE_UNAVAILABLE),
        };
        async { answer }
    })
    .await;
    (served, count, senders)
}

#[tokio::test]
async fn a_listener_is_public_only_when_told() {
    let anywhere = ([0, 0, 0, 0], 0).into();
    assert!(matches!(Listener::bind(anywhere, false).await, Err(BindError::Public(_))));
    assert!(Listener::bind(anywhere, true).await.is_ok());
    let first = Listener::bind(loopback(), false).await.unwrap();
    assert_ne!(first.address().port(), 0);
    assert!(matches!(Listener::bind(first.address(), false).await, Err(BindError::Taken(_))));
}

#[tokio::test]
async fn requests_of_one_connection_are_known_as_such() {
    let served = Served::start(Limits::default(), |_, peer| async move {
        assert!(peer.address.ip().is_loopback());
        Response::new(Body::from(format!("{:04}\n", peer.connection)))
    })
    .await;
    for connection in 1..=2 {
        let mut stream = served.connect().await;
        for _ in 0..3 {
            stream.write_all(GET).await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"\n") || answer.ends_with(b"\r\n") {
                answer.push(within(stream.read_u8()).await.unwrap());
            }
            assert!(answer.ends_with(format!("{connection:04}\n").as_bytes()), "{}", answer.escape_ascii());
        }
    }
    assert_eq!(served.stop().await.connections, 2);
}

#[tokio::test]
async fn a_body_is_answered_by_what_is_wrong_with_it() {
    let limits = Limits { message_bytes: 10, body_timeout: Duration::from_millis(50), ..Limits::default() };
    let served = echo(limits).await;
    for (body, line) in [
        ("content-length: 10\r\n\r\n0123456789", "HTTP/1.1 200 OK"),
        ("transfer-encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", "HTTP/1.1 200 OK"),
        ("content-length: 100000000000\r\n\r\n", "HTTP/1.1 413 Payload Too Large"),
        ("transfer-encoding: chunked\r\n\r\n5\r\n01234\r\n6\r\n567890\r\n", "HTTP/1.1 413 Payload Too Large"),
        ("content-length: 10\r\n\r\n012", "HTTP/1.1 408 Request Timeout"),
        ("transfer-encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 400 Bad Request"),
    ] {
        let request = format!("POST / HTTP/1.1\r\nhost: x\r\n{body}");
        assert_eq!(served.say(request.as_bytes()).await, line, "{request}");
    }
    served.is_well().await;
}

#[tokio::test]
async fn a_body_of_100_megabytes_is_not_kept() {
    let served = echo(Limits::default()).await;
    let mut stream = served.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let flood = tokio::spawn(async move {
        let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
        for _ in 0..100 {
            // The listener hangs up on us, which is right.
            if writing.write_all(&chunk).await.is_err() {
                break;
            }
        }
    });
    let mut head = [0; 12];
    within(reading.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 413");
    within(flood).await.unwrap();
    served.is_well().await;
}

#[tokio::test]
async fn a_handler_that_panics_is_not_the_end() {
    let served = Served::start(Limits::default(), |request, _| {
        assert_ne!(request.uri().path(), "/at-once", "this panic is part of the test");
        async move {
            tokio::task::yield_now().await;
            assert_ne!(request.uri().path(), "/later", "this panic is part of the test");
            status(StatusCode::OK)
        }
    })
    .await;
    for path in ["/at-once", "/later"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(served.say(request.as_bytes()).await, "HTTP/1.1 500 Internal Server Error");
        served.is_well().await;
    }
    assert_eq!(served.stop().await.panics, 2);
}

#[tokio::test]
async fn garbage_is_answered_and_forgotten() {
    let served = echo(Limits { head_timeout: Duration::from_millis(50), ..Limits::default() }).await;
    assert_eq!(served.say(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").await, "HTTP/1.1 400 Bad Request");
    let long = [b"GET / HTTP/1.1\r\nx: ".as_slice(), &vec![b'x'; 1 << 20]].concat();
    assert_eq!(served.say(&long).await, "HTTP/1.1 431 Request Header Fields Too Large");
    // Heads that never end, and none at all, are hung up on.
    for begun in [&b"GET / HT"[..], b"GET / HTTP/1.1\r\nx: ", b""] {
        let line = served.say(begun).await;
        assert!(line.is_empty() || line.starts_with("HTTP/1.1 408"), "{line}");
    }
    served.is_well().await;
}

#[tokio::test]
async fn of_1000_streams_256_are_served_and_the_rest_is_told_so() {
    let (served, streams, mut senders) = streaming(Limits::default()).await;
    let mut peers = Vec::new();
    let mut lines = Vec::new();
    for _ in 0..1000 {
        let mut stream = served.connect().await;
        stream.write_all(GET).await.unwrap();
        lines.push(first_line(&mut stream).await);
        peers.push(stream);
    }
    assert_eq!(lines.iter().filter(|line| *line == "HTTP/1.1 200 OK").count(), 256);
    assert_eq!(lines.iter().filter(|line| *line == "HTTP/1.1 503 Service Unavailable").count(), 744);
    assert_eq!(streams.count(), 256);
    served.is_well().await;

    drop(peers);
    while let Ok(sender) = senders.try_recv() {
        within(sender.gone()).await;
    }
    assert_eq!(streams.count(), 0);
    assert_eq!(served.say(GET).await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told_and_leave_room_again() {
    let served = echo(Limits { connections: 2, ..Limits::default() }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = served.connect().await;
        stream.write_all(GET).await.unwrap();
        assert_eq!(first_line(&mut stream).await, "HTTP/1.1 200 OK");
        held.push(stream);
    }
    for _ in 0..200 {
        assert_eq!(served.say(GET).await, "HTTP/1.1 503 Service Unavailable");
    }
    drop(held);
    let again = async {
        while served.say(GET).await != "HTTP/1.1 200 OK" {
            tokio::task::yield_now().await;
        }
    };
    within(again).await;
    assert!(served.stop().await.refused >= 200);
}

#[tokio::test]
async fn a_stream_whose_reader_closes_half_or_all_is_over() {
    let (served, streams, mut senders) = streaming(Limits::default()).await;
    for half in [true, false] {
        let mut stream = served.connect().await;
        stream.write_all(GET).await.unwrap();
        assert_eq!(first_line(&mut stream).await, "HTTP/1.1 200 OK");
        let sender = within(senders.recv()).await.unwrap();
        sender.send("hello".into()).await.unwrap();
        if half {
            stream.shutdown().await.unwrap();
        } else {
            drop(stream);
        }
        within(sender.gone()).await;
        assert_eq!(sender.send("more".into()).await, Err(SendError::Gone));
    }
    assert_eq!(streams.count(), 0);
    served.is_well().await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_given_up() {
    let limits =
        Limits { write_timeout: Duration::from_millis(100), queued_bytes: 1 << 20, ..Limits::default() };
    let (served, streams, mut senders) = streaming(limits).await;
    let mut stream = served.connect().await;
    stream.write_all(GET).await.unwrap();
    let sender = within(senders.recv()).await.unwrap();
    let piece = Bytes::from(vec![b'x'; 1 << 16]);
    let flood = async {
        loop {
            if let Err(error) = sender.send(piece.clone()).await {
                return error;
            }
        }
    };
    // The queue is full, or the connection was cut before that was noticed.
    assert!(matches!(within(flood).await, SendError::Slow | SendError::Gone));
    within(sender.gone()).await;
    assert_eq!(streams.count(), 0);
    served.is_well().await;
}

#[tokio::test]
async fn a_whole_answer_that_nobody_reads_is_given_up() {
    /// An answer that tells when it is let go.
    struct Long(Vec<u8>, #[expect(dead_code, reason = "dropped with it")] mpsc::Sender<()>);
    impl AsRef<[u8]> for Long {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    let limits = Limits { write_timeout: Duration::from_millis(100), ..Limits::default() };
    let (held, mut let_go) = mpsc::channel(1);
    let held = Mutex::new(Some(held));
    let served = Served::start(limits, move |_, _| {
        let held = held.lock().unwrap().take();
        let body = held.map_or(Bytes::new(), |held| Bytes::from_owner(Long(vec![b'x'; 64 << 20], held)));
        async { Response::new(Body::from(body)) }
    })
    .await;
    let mut stream = served.connect().await;
    stream.write_all(GET).await.unwrap();
    assert_eq!(within(let_go.recv()).await, None);
    served.is_well().await;
}

#[tokio::test]
async fn a_stream_that_is_cut_has_no_end() {
    let (served, _, mut senders) = streaming(Limits::default()).await;
    for cut in [true, false] {
        let mut stream = served.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let sender = within(senders.recv()).await.unwrap();
        sender.send("hello".into()).await.unwrap();
        if cut {
            sender.cut().await;
        } else {
            drop(sender);
        }
        let mut all = String::new();
        within(stream.read_to_string(&mut all)).await.unwrap();
        assert!(all.contains("5\r\nhello\r\n"), "{all}");
        assert_eq!(all.ends_with("0\r\n\r\n"), !cut, "{all}");
    }
}

#[tokio::test]
async fn a_listener_that_is_stopped_leaves_nothing_behind() {
    let (served, streams, mut senders) = streaming(Limits::default()).await;
    let mut stream = served.connect().await;
    stream.write_all(GET).await.unwrap();
    let sender = within(senders.recv()).await.unwrap();
    let _idle = served.connect().await;
    let address = served.address;
    served.stop().await;
    assert!(sender.is_gone());
    assert_eq!(streams.count(), 0);
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

//! Answers requests for any address, so that whoever can be made to fetch something shows it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Activity;

/// So much of a request is read.
const MAX_HEAD: usize = 4_096;
/// So many requests are answered at a time.
const MAX_OPEN: usize = 16;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(2);

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Answers a connection in the background, and tells of it first.
pub(super) fn serve(stream: TcpStream, canary: String, tell: impl FnOnce(Activity) + Send + 'static) {
    if OPEN.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
        OPEN.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    // Where no thread can be started, a server has used them all up: its limit is hit.
    let started = std::thread::Builder::new().stack_size(128 << 10).spawn(move || {
        answer(stream, &canary, tell);
        OPEN.fetch_sub(1, Ordering::Relaxed);
    });
    if started.is_err() {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(mut stream: TcpStream, canary: &str, tell: impl FnOnce(Activity)) {
    let deadline = Instant::now() + PATIENCE;
    // Whoever is slow has made contact all the same.
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut head = vec![0; MAX_HEAD];
    let mut length = 0;
    while length < MAX_HEAD && Instant::now() < deadline {
        match stream.read(&mut head[length..]) {
            Ok(read @ 1..) => length += read,
            Ok(0) | Err(_) => break,
        }
        if head[..length].windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    tell(Activity::Contact { request: String::from_utf8_lossy(&head[..length]).into_owned() });
    let body = format!("sortie {canary}\n");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // It was told; nobody has to hear the answer.
    let _ = stream.write_all(answer.as_bytes());
}

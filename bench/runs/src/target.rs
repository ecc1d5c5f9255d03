//! A target over HTTP that takes its time, and counts what it was told.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The target. It answers as long as this process lives.
pub(crate) struct SlowTarget {
    pub(crate) url: String,
    told: Told,
}

/// How often each message came.
type Told = Arc<Mutex<HashMap<String, usize>>>;

impl SlowTarget {
    pub(crate) fn start(latency: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}/", listener.local_addr()?);
        let told = Told::default();
        let count = told.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = count.clone();
                // A connection that breaks is the client's business.
                std::thread::spawn(move || drop(serve(&stream, latency, &count)));
            }
        });
        Ok(Self { url, told })
    }

    /// How often each message came since the last time.
    pub(crate) fn take(&self) -> HashMap<String, usize> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many messages came.
    pub(crate) fn count(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

fn serve(stream: &TcpStream, latency: Duration, told: &Told) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body: serde_json::Value = serde_json::from_slice(&body)?;
        let message = body["message"].as_str().unwrap_or_default().to_owned();
        *told.lock().unwrap_or_else(PoisonError::into_inner).entry(message).or_default() += 1;
        std::thread::sleep(latency);
        let answer = "I keep it.";
        let mut stream = stream;
        stream.write_all(
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .as_bytes(),
        )?;
    }
}

//! A listener to try things on, and a peer that need not speak HTTP.

// Each test program uses its part of it.
#![allow(dead_code)]

use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use sortie_wire::Limits;
use sortie_wire::http::{Body, Listener, ListenerCounts, Peer, RequestBody};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// No test waits longer for anything.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A listener that is being served.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<ListenerCounts>,
}

impl Served {
    pub(crate) async fn start<H, F>(limits: Limits, handler: H) -> Self
    where
        H: Fn(Request<RequestBody>, Peer) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let listener = Listener::bind(loopback(), false).await.unwrap();
        let (address, stop) = (listener.address(), CancellationToken::new());
        let task = tokio::spawn(listener.serve(handler, limits, stop.clone()));
        Self { address, stop, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes as they are, and gives the first line of the answer.
    pub(crate) async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        first_line(&mut stream).await
    }

    /// That it still answers.
    pub(crate) async fn is_well(&self) {
        assert_eq!(self.say(b"GET /well HTTP/1.1\r\nhost: x\r\n\r\n").await, "HTTP/1.1 200 OK");
    }

    pub(crate) async fn stop(self) -> ListenerCounts {
        self.stop.cancel();
        within(self.task).await.unwrap()
    }
}

pub(crate) fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

pub(crate) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The first line of what comes, without its line break; less when the stream ends before it.
pub(crate) async fn first_line(stream: &mut TcpStream) -> String {
    let read = async {
        let mut line = Vec::new();
        while let Ok(byte @ 0..) = stream.read_u8().await {
            if byte == b'\n' {
                break;
            }
            line.push(byte);
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    };
    within(read).await
}

/// What comes of it, before the deadline.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("nothing happened in time")
}

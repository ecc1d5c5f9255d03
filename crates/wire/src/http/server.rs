//! A listener that goes on, whatever a peer or a handler does.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body::{Body, RequestBody, closing};
use crate::Limits;

/// How long connections may finish what they are doing once the listener is told to stop.
const FINISHING: Duration = Duration::from_millis(500);

/// How many connections are told at the same time that there are too many; the others are closed without a word.
const REFUSING: usize = 64;

const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n";

/// A socket that accepts, and does not answer yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// A listener could not be had.
#[derive(Debug, Error)]
pub enum BindError {
    /// The address is not loopback, and nobody said that it may be public.
    #[error("{0} is not a loopback address")]
    Public(SocketAddr),
    /// Someone else listens there.
    #[error("{0} is taken")]
    Taken(SocketAddr),
    /// The system refuses.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Who a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Which connection of the listener it is: 1, 2, 3, …
    pub connection: u64,
}

/// What a listener did until it was told to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounts {
    /// Connections that were served.
    pub connections: u64,
    /// Connections that were refused, because [`Limits::connections`] were open.
    pub refused: u64,
    /// Requests whose handler panicked. That is a fault of ours, never of the peer.
    pub panics: u64,
}

impl Listener {
    /// Begins to accept. Port 0 asks for one that is free; [`address`](Self::address) tells which.
    pub async fn bind(address: SocketAddr, public: bool) -> Result<Self, BindError> {
        if !public && !address.ip().to_canonical().is_loopback() {
            return Err(BindError::Public(address));
        }
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken(address),
            _ => BindError::Refused { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Self { socket, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers every request with what `handler` makes of it, until `stop`.
    ///
    /// - A handler that panics answers 500; the listener and its other connections go on.
    /// - A connection beyond [`Limits::connections`] is accepted, answered 503 and closed. Not to accept it would
    ///   leave it in the system's queue, where it looks as if we hang.
    /// - A handler is dropped in the middle when its peer closes the connection, or only its sending half: of a
    ///   stream that nobody reads there is no other sign. What must happen all the same belongs into a task.
    /// - After `stop` connections have half a second for what they are doing, then they are cut. End streams first.
    pub async fn serve<H, F>(self, handler: H, limits: Limits, stop: CancellationToken) -> ListenerCounts
    where
        H: Fn(Request<RequestBody>, Peer) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let panics = Arc::new(AtomicU64::new(0));
        let open = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        let refusing = Arc::new(Semaphore::new(REFUSING));
        let tasks = TaskTracker::new();
        let cut = CancellationToken::new();
        // However this ends, dropped included, no connection outlives it.
        let _cut = cut.clone().drop_guard();
        let mut counts = ListenerCounts::default();
        loop {
            let (stream, address) = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.socket.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        pause_after(&error).await;
                        continue;
                    }
                },
            };
            let Ok(permit) = Arc::clone(&open).try_acquire_owned() else {
                counts.refused += 1;
                if let Ok(permit) = Arc::clone(&refusing).try_acquire_owned() {
                    let cut = cut.clone();
                    tasks.spawn(async move {
                        cut.run_until_cancelled(refuse(stream)).await;
                        drop(permit);
                    });
                }
                continue;
            };
            counts.connections += 1;
            let peer = Peer { address, connection: counts.connections };
            let connection =
                connection(stream, peer, Arc::clone(&handler), Arc::clone(&panics), limits, stop.clone());
            let cut = cut.clone();
            tasks.spawn(async move {
                cut.run_until_cancelled(connection).await;
                drop(permit);
            });
        }
        drop(self.socket);
        tasks.close();
        if tokio::time::timeout(FINISHING, tasks.wait()).await.is_err() {
            cut.cancel();
            tasks.wait().await;
        }
        counts.panics = panics.load(Ordering::Relaxed);
        counts
    }
}

/// Lets the system recover. A peer that hung up in the queue is no reason to wait; too many open files is one.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset};

    if !matches!(error.kind(), ConnectionAborted | ConnectionReset) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn refuse(mut stream: TcpStream) {
    let say = async {
        stream.write_all(TOO_MANY).await?;
        stream.shutdown().await?;
        // To close a socket with something unread in it resets it, and the peer would not see the answer.
        let mut unread = [0; 4096];
        for _ in 0..16 {
            if stream.read(&mut unread).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), say).await;
}

async fn connection<H, F>(
    stream: TcpStream,
    peer: Peer,
    handler: Arc<H>,
    panics: Arc<AtomicU64>,
    limits: Limits,
    stop: CancellationToken,
) where
    H: Fn(Request<RequestBody>, Peer) -> F,
    F: Future<Output = Response<Body>>,
{
    // A small answer must not wait for the peer's acknowledgement of the one before: that takes 40 ms.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let answer = guarded(|| handler(request, peer), &panics);
        async { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let socket = TokioIo::new(Socket::new(stream, limits.write_timeout));
    let mut served = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .serve_connection(socket, service)
    );
    // How a connection ends is the peer's business: what it did wrong was answered, or there is nobody to answer.
    tokio::select! {
        _ = served.as_mut() => {}
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
}

/// What the handler answers, or 500 when it panics.
async fn guarded<F>(handler: impl FnOnce() -> F, panics: &AtomicU64) -> Response<Body>
where
    F: Future<Output = Response<Body>>,
{
    // What a handler shares with others is behind locks, which say themselves when a panic left them.
    let answered = match catch_unwind(AssertUnwindSafe(handler)) {
        Ok(future) => {
            let mut future = pin!(future);
            std::future::poll_fn(|context| {
                match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                    Ok(polled) => polled.map(Some),
                    Err(_) => Poll::Ready(None),
                }
            })
            .await
        }
        Err(_) => None,
    };
    answered.unwrap_or_else(|| {
        panics.fetch_add(1, Ordering::Relaxed);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        closing(response)
    })
}

/// A socket whose writes fail when the peer takes nothing for so long.
#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    patience: Duration,
    /// When a write that waits is given up. Made once, when a write first waits, and then used again.
    deadline: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Socket {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, deadline: None, waiting: false }
    }

    /// What a write gave; if it waits, no longer than the peer may take.
    fn bounded<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = false;
            return polled;
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if !self.waiting {
            self.waiting = true;
            deadline.as_mut().reset(Instant::now() + patience);
        }
        deadline.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.bounded(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

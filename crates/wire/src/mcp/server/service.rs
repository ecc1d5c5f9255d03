//! Who is asked, and where messages go that are not simply the answer.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::log::Log;
use crate::Lock;
use crate::jsonrpc::{Incoming, Malformed};

/// Hears what peers say, and decides what is answered.
///
/// Its methods are called from many tasks at once and must not block; what takes time is a [`Reply::Talk`].
pub trait Service: Send + Sync + 'static {
    /// What the service remembers of a peer.
    type Peer: Send + Sync + 'static;

    /// A peer appears. `name` is ours, and no credential.
    fn open(self: &Arc<Self>, name: &str, transport: Transport) -> Arc<Self::Peer>;

    /// A peer has gone, or its session has ended.
    fn close(self: &Arc<Self>, peer: &Arc<Self::Peer>);

    /// Whether this message begins a session.
    fn begins_session(&self, message: &Incoming) -> bool;

    /// Whether a peer may name this protocol version in `MCP-Protocol-Version` where there is no message.
    fn speaks(&self, peer: &Self::Peer, version: &str) -> bool;

    /// Whether streams to this peer begin with an event that has an id and no data, so that it can resume at once.
    /// Peers of earlier versions take that for a broken message.
    fn primes(&self, peer: &Self::Peer) -> bool;

    /// Something waits that can only be said where there is a stream.
    fn has_unsaid(&self, peer: &Self::Peer) -> bool;

    /// A stream is open on which the service may say what nobody asked for.
    fn listening(self: &Arc<Self>, peer: &Arc<Self::Peer>, outlet: Outlet);

    /// A message arrived.
    fn hear(self: &Arc<Self>, peer: &Arc<Self::Peer>, arrival: Arrival<'_>) -> Reply;

    /// Something is fetched at a path that is not MCP's. The answer as JSON, where there is one.
    fn fetch(self: &Arc<Self>, path: &str) -> Option<Bytes> {
        let _ = path;
        None
    }

    /// A message arrived that belongs to nobody, for instance to a session that has ended. It is answered with
    /// `answer`.
    fn refuse(self: &Arc<Self>, name: &str, arrival: Arrival<'_>, answer: &Bytes);
}

/// How a peer is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A session over Streamable HTTP.
    Session,
    /// One request over HTTP that belongs to no session.
    Single,
    /// The older pair of HTTP and SSE.
    HttpSse,
    /// Standard input and output.
    Stdio,
}

/// A message as it arrived.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// What it is.
    pub message: Result<Incoming, Malformed>,
    /// The headers of its request, over HTTP.
    pub headers: Option<&'a HeaderMap>,
}

/// Says something before the answer, and then the answer. It runs in a task of its own and outlives the connection.
pub type Talk = Box<dyn FnOnce(Outlet) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// What becomes of a message.
pub enum Reply {
    /// It is taken, and not answered.
    Accepted,
    /// It is answered.
    Answer(ServiceAnswer),
    /// Something is said before the answer.
    Talk(Talk),
    /// The messages of a batch, each for itself.
    Several(Vec<Reply>),
}

/// An answer.
#[derive(Debug)]
pub struct ServiceAnswer {
    /// The message.
    pub message: Bytes,
    /// What HTTP says to it.
    pub status: StatusCode,
    /// Dropped once the answer is on its way.
    pub then: Option<Box<dyn Any + Send>>,
}

/// Where messages go: the stream of one exchange, or one on which anything may be said.
#[derive(Clone, Debug)]
pub struct Outlet(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// The events of one exchange: the answer ends them.
    Exchange(Arc<Log>),
    Events(Arc<Log>),
    Lines(mpsc::Sender<Bytes>),
    /// Only an answer fits.
    Answer(Arc<Lock<Option<oneshot::Sender<Bytes>>>>),
}

/// A message was not taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unsent {
    /// The client takes nothing but an answer here.
    #[error("there is no stream")]
    NoStream,
    /// Nobody reads, or not fast enough.
    #[error("nobody reads")]
    Gone,
}

impl Outlet {
    pub(super) fn exchange(log: Arc<Log>) -> Self {
        Self(Kind::Exchange(log))
    }

    pub(super) fn events(log: Arc<Log>) -> Self {
        Self(Kind::Events(log))
    }

    pub(super) fn lines(lines: mpsc::Sender<Bytes>) -> Self {
        Self(Kind::Lines(lines))
    }

    pub(super) fn only_answer() -> (Self, oneshot::Receiver<Bytes>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Kind::Answer(Arc::new(Lock::new(Some(sender))))), receiver)
    }

    /// Says something that is not the answer.
    pub fn say(&self, message: Bytes) -> Result<(), Unsent> {
        match &self.0 {
            Kind::Exchange(log) | Kind::Events(log) => log.say(message).map_err(|_| Unsent::Gone),
            Kind::Lines(lines) => lines.try_send(message).map_err(|_| Unsent::Gone),
            Kind::Answer(_) => Err(Unsent::NoStream),
        }
    }

    /// Says the answer, after which an exchange is over.
    pub fn answer(&self, message: Bytes) -> Result<(), Unsent> {
        match &self.0 {
            Kind::Exchange(log) => {
                let said = log.say(message).map_err(|_| Unsent::Gone);
                log.end();
                said
            }
            Kind::Answer(sender) => {
                let sender = sender.lock().take();
                sender.ok_or(Unsent::Gone)?.send(message).map_err(|_| Unsent::Gone)
            }
            Kind::Events(_) | Kind::Lines(_) => self.say(message),
        }
    }

    /// Ends an exchange without an answer.
    pub fn hang_up(&self) {
        match &self.0 {
            Kind::Exchange(log) => log.end(),
            Kind::Answer(sender) => drop(sender.lock().take()),
            Kind::Events(_) | Kind::Lines(_) => {}
        }
    }

    /// Closes the connection in the middle of an exchange; the client takes the stream up again after `retry`. Where
    /// streams cannot be taken up, nothing happens.
    pub fn pause(&self, retry: Duration) {
        if let Kind::Exchange(log) = &self.0 {
            log.pause(retry);
        }
    }

    /// Whether anything but an answer can be said.
    pub fn is_stream(&self) -> bool {
        !matches!(self.0, Kind::Answer(_))
    }

    /// Whether someone reads now.
    pub fn is_open(&self) -> bool {
        match &self.0 {
            Kind::Exchange(log) | Kind::Events(log) => log.has_reader(),
            Kind::Lines(lines) => !lines.is_closed(),
            Kind::Answer(_) => false,
        }
    }

    /// Waits until nobody will ever read what is said here.
    pub async fn abandoned(&self) {
        match &self.0 {
            Kind::Exchange(log) | Kind::Events(log) => log.abandoned().await,
            Kind::Lines(lines) => lines.closed().await,
            Kind::Answer(_) => std::future::pending().await,
        }
    }
}

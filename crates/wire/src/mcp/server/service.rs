//! Who is asked.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::outlet::Outlet;
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

//! HTTP/1.1, both ends.
//!
//! A [`Listener`] answers requests with [`Body`]s that are whole or [streams](Streams); a [`Client`] sends them and
//! gets whole answers or [events](EventStream).

mod body;
mod client;
mod contacts;
mod hosts;
mod server;
mod stream;

pub use body::{Body, BodyError, Cut, RequestBody, discard_body, read_body, read_body_of};
pub(crate) use body::{closing, respond};
pub(crate) use client::is_event_stream;
pub use client::{
    Answer, BodyPieces, Client, ClientError, ClientOptions, EventStream, OpenResponse, Response, StreamError,
    wait_until_accepts,
};
pub use contacts::ContactListener;
pub use hosts::{Foreign, Hosts, is_loopback};
pub use server::{BindError, Listener, ListenerCounts, Peer};
pub use stream::{SendError, StreamBody, StreamSender, Streams, TooManyStreams};

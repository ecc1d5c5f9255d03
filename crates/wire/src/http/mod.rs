//! HTTP/1.1, both ends.
//!
//! A [`Listener`] answers requests with [`Body`]s that are whole or [streams](Streams); a [`Client`] sends them and
//! gets whole answers or [events](EventStream).

mod body;
mod client;
mod hosts;
mod server;
mod stream;

pub use body::{Body, BodyError, Cut, RequestBody, read_body};
pub(crate) use body::{closing, respond};
pub use client::{
    Answer, Client, ClientError, ClientOptions, EventStream, Response, StreamError, wait_until_accepts,
};
pub use hosts::{Foreign, Hosts};
pub use server::{BindError, Listener, ListenerCounts, Peer};
pub use stream::{SendError, StreamBody, StreamSender, Streams, TooManyStreams};

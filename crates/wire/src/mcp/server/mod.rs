//! The end of MCP that is asked: sessions, streams and framing over HTTP and over standard input and output.
//!
//! A [`Service`] hears messages and says what is answered; [`serve`] and [`serve_stdio`] carry both. What a service
//! says unasked, or before an answer, goes through an [`Outlet`].

mod endpoint;
mod http_sse;
mod log;
mod post;
mod service;
mod sessions;
mod stdio;

pub use endpoint::{Ends, serve};
pub use service::{Arrival, Outlet, Reply, Service, ServiceAnswer, Talk, Transport, Unsent};
pub use stdio::serve_stdio;

//! The client's end of MCP.
//!
//! A [`Connection`] knows the transport and nothing of what messages mean, but for the ids by which an answer is known. What it
//! hears it hands on as bytes, garbage included. A [`Session`] on top of it knows requests and answers; everything that
//! it sends and hears passes through its [`Handler`] first.

mod handler;
mod handshake;
mod http;
mod link;
mod pending;
mod session;
mod stdio;

pub use handler::{ClientReply, Handler, Received, SessionMessage};
pub(super) use handshake::headers as mirrored_headers;
pub use handshake::{ClientIdentity, HandshakeError, HandshakeFailure, Welcome};
pub use link::{ConnectError, Connection};
pub(super) use link::{Happened, Link, Outgoing};
pub use session::{AskError, Loss, Patience, RpcAnswer, Session};

/// The code of the error that answers a method which nobody knows.
pub const METHOD_NOT_FOUND: i64 = -32601;

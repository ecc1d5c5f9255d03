//! The client's end of MCP: what is said goes to a server, and what comes back arrives in one order.
//!
//! A [`Link`] knows the transport and nothing of what messages mean, but for the ids by which an answer is known. What it
//! hears it hands on as bytes, garbage included.

mod envelope;
mod http;
mod link;
mod resume;
mod stdio;

pub use envelope::{Envelope, asked_again};
pub use link::{Ended, Happened, Link, LinkError, Outgoing};

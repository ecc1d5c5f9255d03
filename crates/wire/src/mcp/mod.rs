//! The Model Context Protocol: how its messages travel. What they say is the caller's business.

pub mod client;
mod header;
pub mod revision;
pub mod server;

pub use header::{decode_header, encode_header};
pub use revision::McpRevision;

//! The Model Context Protocol: how its messages travel. What they say is the caller's business.

pub mod client;
pub mod revision;
pub mod server;

pub use revision::McpRevision;

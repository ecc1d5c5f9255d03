//! The Model Context Protocol.

pub mod client;

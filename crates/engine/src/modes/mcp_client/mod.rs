//! An MCP client that asks what a document says, and answers what the server asks back.

mod client;
mod play;

pub(crate) use client::{spoken, surfaces};
pub use play::play;

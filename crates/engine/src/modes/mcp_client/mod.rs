//! An MCP client that asks what a document says, and answers what the server asks back.

mod answer;
mod elicitation;
mod handshake;
mod options;
mod pending;
mod play;
mod script;
mod session;

pub use options::Options;
pub use play::play;
pub(crate) use session::messages;

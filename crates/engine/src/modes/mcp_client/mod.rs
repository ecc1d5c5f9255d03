//! An MCP client that asks what a document says, and answers what the server asks back.

mod answer;
mod client;
mod elicitation;
mod options;
mod play;
mod script;

pub use options::Options;
pub use play::play;

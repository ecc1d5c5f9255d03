//! A client that talks to an A2A agent as a document says, and hears what comes back.

mod play;
mod session;

pub use play::play;

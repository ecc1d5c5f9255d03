//! An agent that others talk to over A2A 0.3 and 1.0: its card, its tasks, and what it streams.

mod answers;
mod server;

pub use server::start;

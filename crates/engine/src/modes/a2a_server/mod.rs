//! An agent that others talk to over A2A 0.3: its card, its tasks, and what it streams.

mod answers;
mod card;
mod json;
mod plan;
mod server;
mod stream;
mod tasks;

pub use server::start;

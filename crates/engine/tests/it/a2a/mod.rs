//! A2A over real sockets: what a peer sees, and what the trace says.

mod agent;
mod client;
mod one;
mod server;

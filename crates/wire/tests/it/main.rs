//! The wire, over real sockets and pipes.

mod child;
mod client;
mod fuzz_corpus;
mod peer;
mod relay;
mod server;
mod session;

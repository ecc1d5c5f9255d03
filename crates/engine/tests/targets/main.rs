//! Targets of evaluators, over real pipes and sockets.

mod agents;
mod cmd;
mod mcp;
mod room;
#[path = "../stage/mod.rs"]
mod stage;

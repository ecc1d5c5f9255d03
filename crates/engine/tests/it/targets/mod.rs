//! Targets of evaluators, over real pipes and sockets.

mod agents;
mod cmd;
mod mcp;
mod room;

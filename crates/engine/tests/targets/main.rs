//! Targets of evaluators, over real pipes and sockets.

mod cmd;
mod mcp;
mod room;

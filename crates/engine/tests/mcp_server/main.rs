//! MCP servers over real sockets: what an agent sees, and what the trace says.

mod agent;
mod calls;
mod hostile;
mod lines;
mod modern;
mod phases;
mod sessions;
// The same stage for every server; each uses its part of it.
#[allow(dead_code)]
#[path = "../a2a/stage.rs"]
mod stage;
mod streams;

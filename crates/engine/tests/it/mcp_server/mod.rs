//! MCP servers over real sockets: what an agent sees, and what the trace says.

mod agent;
mod calls;
mod hostile;
mod lines;
mod modern;
mod phases;
mod sessions;
mod streams;

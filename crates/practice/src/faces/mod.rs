//! What an agent shows to the wire: the ends of MCP, A2A, AG-UI and chat endpoints that agents have.

mod a2a_client;
mod a2a_server;
mod ag_ui;
mod ag_ui_events;
mod chat;
mod gathered;
mod http;
mod mcp_client;
mod mcp_server;
mod surroundings;

pub(crate) use a2a_server::serve as serve_a2a;
pub(crate) use ag_ui::serve as serve_ag_ui;
pub(crate) use chat::serve as serve_chat;
pub(crate) use mcp_server::serve as serve_mcp;
pub(crate) use surroundings::Surroundings;

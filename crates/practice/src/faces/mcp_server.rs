//! The agent as an MCP server.
use sortie_wire::http::Listener;
use crate::agent::Agent;
pub(crate) async fn serve(_l: Listener, _a: Agent) {}

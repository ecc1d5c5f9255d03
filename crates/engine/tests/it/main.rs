//! Modes, targets and cases, over real sockets and pipes.

mod a2a;
mod ag_ui_client;
mod cases;
mod command;
mod mcp_client;
mod mcp_client_hostile;
mod mcp_client_process;
mod mcp_server;
mod phases;
mod run_folder;
mod server_stage;
mod stage;
mod synthesis;
mod targets;

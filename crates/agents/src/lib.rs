//! Coding agents as data: how to start each agent with given servers, and which servers its users have configured.
//!
//! A [`Preset`] describes an agent: its command, its configuration files, the place of its session file, and how to install it.
//! Built-in presets have the form of `[agents.NAME]` in `sortie.toml`, so that users can add others.
//!
//! | step | with |
//! |---|---|
//! | choose an agent | [`Preset::builtin`], [`parse_preset`] |
//! | is it there, and which version | [`Preset::find_program`], [`Preset::ask_version`], [`ask_versions`] |
//! | write a disposable configuration | [`Preset::prepare`] |
//! | keep its session file | [`Preset::read_session`] |
//! | the servers that a user has | [`read_servers`], [`find_server_files`] |
//!
//! ```
//! use sortie_agents::{AgentPlaces, Preset, Server};
//!
//! let folder = tempfile::tempdir()?;
//! let codex = Preset::builtin("codex").unwrap();
//! let places = AgentPlaces { folder: folder.path().join("agent"), home: Some(folder.path().join("home")) };
//! let variables = codex.prepare(&places, &[Server::http("shop", "http://127.0.0.1:8080/mcp")], None)?;
//! let written = std::fs::read_to_string(places.folder.join("config.toml"))?;
//! assert!(written.contains("[mcp_servers.shop]") && written.contains("http://127.0.0.1:8080/mcp"));
//! assert!(variables.iter().any(|(name, _)| name == "CODEX_HOME"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files of users are read, never written. Their content is untrusted: size, depth and the number of servers are limited.

mod clients;
mod configuration;
mod expansion;
mod jsonc;
mod parse;
mod preset;
mod program;
mod server;
mod server_file;
mod session;

pub use clients::{ClientFiles, FoundFile, UserFolders, clients, find_server_files};
pub use configuration::{AgentPlaces, PrepareError};
pub use expansion::ExpandError;
pub use parse::{FIELDS, parse_preset};
pub use preset::{ConfigFormat, Preset, ServerForm, SessionForm};
pub use program::{ProgramError, ask_versions, find_program};
pub use server::{Server, ServerTransport};
pub use server_file::{MAX_SERVERS, ServerFile, ServersError, SkippedServer, parse_servers, read_servers};
pub use session::{AgentSession, SessionError};

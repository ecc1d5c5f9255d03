//! How an MCP server is reached, and what it takes.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sortie_wire::Limits;

use crate::modes::McpRevision;

/// How an MCP server is reached, and what it takes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 asks for one that is free.
    pub listen: SocketAddr,
    /// Whether that may be an address that others can reach.
    pub public: bool,
    /// Names, besides those of loopback, under which requests may come.
    pub hosts: Vec<String>,
    /// How much a peer may ask.
    pub limits: Limits,
    /// Which revision is spoken.
    pub wire: McpRevision,
    /// Whether each session has phases of its own.
    pub isolate: bool,
    /// How long a client that supports elicitation or sampling may take to answer a request of ours.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            public: false,
            hosts: Vec::new(),
            limits: Limits::default(),
            wire: McpRevision::Auto,
            isolate: false,
            patience: Duration::from_mins(1),
        }
    }
}

//! How an MCP server is reached, and what it takes.

use std::time::Duration;

use crate::modes::{ListenOptions, McpRevision};

/// How an MCP server is reached, and what it takes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub listen: ListenOptions,
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
            listen: ListenOptions::default(),
            wire: McpRevision::Auto,
            isolate: false,
            patience: Duration::from_mins(1),
        }
    }
}

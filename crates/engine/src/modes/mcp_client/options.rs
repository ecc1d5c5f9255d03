//! How an MCP client behaves, apart from what the document says.

use std::time::Duration;

use sortie_wire::Limits;

use crate::modes::McpRevision;

/// How an MCP client behaves, apart from what the document says.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much the target may ask of us.
    pub limits: Limits,
    /// How long it may take until the target accepts. 30 s.
    pub connect_timeout: Duration,
    /// How long a request may stay without any sign of life. 60 s; whatever comes of it begins the time anew.
    pub action_timeout: Duration,
    /// Which revision is spoken.
    pub wire: McpRevision,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            connect_timeout: Duration::from_secs(30),
            action_timeout: Duration::from_mins(1),
            wire: McpRevision::default(),
        }
    }
}

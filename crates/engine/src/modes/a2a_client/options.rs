//! How an A2A client behaves, apart from what the document says.

use std::time::Duration;

use sortie_wire::Limits;

/// How an A2A client behaves, apart from what the document says.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much the target may ask of us.
    pub limits: Limits,
    /// How long it may take until the target accepts. 30 s.
    pub connect_timeout: Duration,
    /// How long an answer may take, or the beginning of a stream. 5 min, since agents think before they answer whole. A
    /// stream, once begun, may take its time.
    pub action_timeout: Duration,
    /// Hosts that push notifications may go to, besides this machine.
    pub allow_hosts: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            connect_timeout: Duration::from_secs(30),
            action_timeout: Duration::from_mins(5),
            allow_hosts: Vec::new(),
        }
    }
}

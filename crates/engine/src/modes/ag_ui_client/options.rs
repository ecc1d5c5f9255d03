//! How an AG-UI client behaves, apart from what the document says.

use std::time::Duration;

use sortie_wire::Limits;

/// How an AG-UI client behaves, apart from what the document says.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much the target may ask of us.
    pub limits: Limits,
    /// How long it may take until the target accepts. 30 s.
    pub connect_timeout: Duration,
    /// How many runs may follow one, to bring an agent the results of its calls. 32.
    pub follow_ups: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { limits: Limits::default(), connect_timeout: Duration::from_secs(30), follow_ups: 32 }
    }
}

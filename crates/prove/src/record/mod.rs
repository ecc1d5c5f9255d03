//! Makes missing proofs by playing documents against practice agents.

mod agents;
mod error;
mod missing;
mod session;
mod truth;

pub use agents::{USUAL_AGENTS, parse_agents};
pub use error::RecordError;
pub use session::{RecordRequest, RecordedEvent};

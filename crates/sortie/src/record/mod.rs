//! `sortie prove --record`: makes missing proofs by playing documents against practice agents.

mod agents;
mod missing;
mod session;
mod truth;

pub(crate) use agents::{USUAL, named};
pub(crate) use session::{Ready, Session};

//! Stands in for `sortie_trace::Observed` until that has landed.

use serde_json::Value;
use sortie_trace::{Direction, Sender};

/// A message as indicators see it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Position of its record in the trace.
    pub seq: u64,
    /// The actor that said or heard it.
    pub actor: String,
    /// The protocol.
    pub protocol: String,
    /// The operations it belongs to.
    pub surfaces: Vec<String>,
    /// Which half of an exchange it is.
    pub direction: Direction,
    /// Who sent it.
    pub sender: Sender,
    /// The phase the actor was in.
    pub phase: String,
    /// What indicators see.
    pub message: Value,
}

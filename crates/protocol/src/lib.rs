//! Reads messages of agents from the text on the wire.
//!
//! It uses no sockets and no clock, so live connections and recordings share the same code. Peers are untrusted: all input
//! has limits.

pub mod a2a;
pub mod ag_ui;
mod envelope;
mod id;
mod members;
pub mod shape;

pub use envelope::{Envelope, Kind};
pub use id::{Ids, id_key};
pub use members::Members;

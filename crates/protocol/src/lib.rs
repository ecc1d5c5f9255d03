//! What messages of agents say, read from the text that was on the wire.
//!
//! There is no socket and no clock here: whoever speaks a protocol and whoever looks at a recording read messages with
//! the same code. Peers are hostile: everything that they could make grow has a bound.

pub mod ag_ui;
mod envelope;
mod id;
mod members;

pub use envelope::{Envelope, Kind};
pub use id::{Ids, id_key};
pub use members::Members;

//! JSON-RPC 2.0, raw: envelopes are read and written, and what they carry stays the text it was.

mod read;
mod write;

pub use read::{Incoming, MAX_BATCH, Malformed, MalformedReason, read};
pub use sortie_protocol::{Ids, Kind, id_key};
pub(crate) use write::batch;
pub use write::{error, notification, request, result};

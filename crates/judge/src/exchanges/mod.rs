//! What was said to models and targets, kept so that a run can be repeated without them.

mod canonical;
mod difference;
mod file;
mod key;
mod log;
mod store;

pub use difference::{Miss, Near};
pub use file::{FORMAT_VERSION, Outcome, Payload};
pub use key::{Digest, Key};
pub use store::{Bounds, Exchanged, Exchanges, Mode, Source, StoreError};

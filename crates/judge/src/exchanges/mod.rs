//! What was said to models, kept so that a run can be repeated without them.

mod difference;
mod file;
mod key;
mod log;
mod store;

pub use difference::{Miss, Near};
pub use file::{ExchangeOutcome, FORMAT_VERSION};
pub use key::{Digest, Key};
pub use store::{Bounds, ExchangeError, ExchangeMode, ExchangeSource, Exchanged, Exchanges};

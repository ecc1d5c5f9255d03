//! Text that may be shown: what every writer needs, whatever it writes about.

mod json;
mod line;
pub mod style;
mod visible;
mod wrap;

pub use json::write_json;
pub use line::{counted, line};
pub use visible::visible;
pub use wrap::wrap;

//! Text that may be shown: what every writer needs, whatever it writes about.

mod diff;
mod json;
mod line;
mod markdown;
pub mod style;
mod visible;
mod wrap;

pub use diff::{shown_diff, unified_diff};
pub use json::write_json;
pub use line::{counted, line};
pub use markdown::markdown;
pub use visible::visible;
pub use wrap::wrap;

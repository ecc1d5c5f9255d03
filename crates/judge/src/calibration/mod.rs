//! How far a judge can be trusted.

mod injections;
mod labelled;
mod measured;

pub use injections::{Injection, injections};
pub use labelled::Labelled;
pub use measured::calibrate;

//! What a set of documents covers, and what it does not.

mod counted;
mod known;
mod members;

pub use counted::{Coverage, Dimension, Member};

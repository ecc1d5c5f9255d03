//! From what was asked for to what is played, and how.

mod asked;
mod attacked;
mod prepared;

pub(crate) use asked::{Asked, Resolved};
pub(crate) use prepared::{Prepared, Unfit};

//! Reading whatever else is written in the same YAML, with the same answers to a mistake.
//!
//! [`Tree`](crate::yaml::Tree) has the keys and values with their places, and a [`Reader`] makes typed values of them.

pub use crate::parse::{Field, Reader, is_null, listed};
pub use crate::suggest::nearest;

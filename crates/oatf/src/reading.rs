//! Reading whatever else is written in the same YAML, with the same answers to a mistake.
//!
//! [`Tree`](sortie_syntax::yaml::Tree) has the keys and values with their places, and a [`Reader`] makes typed values of them.

pub use sortie_syntax::{is_null, listed, nearest};

pub use crate::parse::{Field, Reader};

//! Warnings of the specification.

mod w001;
mod w002;
mod w003;

use super::Rule;

#[rustfmt::skip] // one line per rule
pub(super) const RULES: &[&Rule] = &[
    &w001::W_001,
    &w002::W_002,
    &w003::W_003,
];

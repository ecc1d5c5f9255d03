//! Warnings of the specification.

mod w004;
mod w005;
mod w006;
mod w007;

use super::Rule;

pub(super) const RULES: &[&Rule] = &[&w004::W_004, &w005::W_005, &w006::W_006, &w007::W_007];

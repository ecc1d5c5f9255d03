//! Warnings of the specification.

mod w001;
mod w002;
mod w003;
mod w004;
mod w005;
mod w006;
mod w007;

use super::Rule;

pub(super) const RULES: &[&Rule] =
    &[&w001::W_001, &w002::W_002, &w003::W_003, &w004::W_004, &w005::W_005, &w006::W_006, &w007::W_007];

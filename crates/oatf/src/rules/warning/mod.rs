//! Warnings of the specification.

mod fields;
mod names;
mod templates;

use fields::{W_001, W_006, W_007};
use names::{W_002, W_003, W_005};
use templates::W_004;

use super::Rule;

pub(super) const RULES: &[&Rule] = &[&W_001, &W_002, &W_003, &W_004, &W_005, &W_006, &W_007];

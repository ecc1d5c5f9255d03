//! Errors the specification is silent about.

mod dates;
mod states;
mod values;

use dates::S_006;
use states::{S_007, S_008};
use values::{S_001, S_002, S_003, S_004, S_005, S_009, S_010};

use super::Rule;

pub(super) const RULES: &[&Rule] =
    &[&S_001, &S_002, &S_003, &S_004, &S_005, &S_006, &S_007, &S_008, &S_009, &S_010];

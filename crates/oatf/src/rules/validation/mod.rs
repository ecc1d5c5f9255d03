//! Rules of the specification.

mod v006;
mod v013;
mod v031;

use super::Rule;

pub(super) const RULES: &[&Rule] = &[&v006::V_006, &v013::V_013, &v031::V_031];

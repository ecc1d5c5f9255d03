//! Errors the specification is silent about.

mod s001;
mod s002;
mod s003;
mod s004;
mod s005;
mod s006;
mod s007;
mod s008;
mod s009;
mod s010;

use super::Rule;

pub(super) const RULES: &[&Rule] = &[
    &s001::S_001,
    &s002::S_002,
    &s003::S_003,
    &s004::S_004,
    &s005::S_005,
    &s006::S_006,
    &s007::S_007,
    &s008::S_008,
    &s009::S_009,
    &s010::S_010,
];

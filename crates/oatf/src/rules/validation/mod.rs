//! Rules of the specification. V-002 is reported as W-001.

mod v001;
mod v003;
mod v004;
mod v005;
mod v006;
mod v007;
mod v008;
mod v009;
mod v010;
mod v011;
mod v012;
mod v013;
mod v014;
mod v015;
mod v016;
mod v017;
mod v018;
mod v019;
mod v020;
mod v021;
mod v022;
mod v023;
mod v024;
mod v025;
mod v031;

pub(super) use v031::is_name;

use super::Rule;

#[rustfmt::skip] // one line per rule
pub(super) const RULES: &[&Rule] = &[
    &v001::V_001,
    &v003::V_003,
    &v004::V_004,
    &v005::V_005,
    &v006::V_006,
    &v007::V_007,
    &v008::V_008,
    &v009::V_009,
    &v010::V_010,
    &v011::V_011,
    &v012::V_012,
    &v013::V_013,
    &v014::V_014,
    &v015::V_015,
    &v016::V_016,
    &v017::V_017,
    &v018::V_018,
    &v019::V_019,
    &v020::V_020,
    &v021::V_021,
    &v022::V_022,
    &v023::V_023,
    &v024::V_024,
    &v025::V_025,
    &v031::V_031,
];

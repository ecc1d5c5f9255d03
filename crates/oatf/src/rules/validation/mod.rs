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
mod v026;
mod v027;
mod v028;
mod v029;
mod v030;
mod v031;
mod v032;
mod v033;
mod v034;
mod v035;
mod v036;
mod v037;
mod v038;
mod v039;
mod v040;
mod v041;
mod v042;
mod v043;
mod v044;
mod v045;
mod v046;
mod v047;
mod v048;
mod v049;
mod v050;

use super::Rule;

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
    &v026::V_026,
    &v027::V_027,
    &v028::V_028,
    &v029::V_029,
    &v030::V_030,
    &v031::V_031,
    &v032::V_032,
    &v033::V_033,
    &v034::V_034,
    &v035::V_035,
    &v036::V_036,
    &v037::V_037,
    &v038::V_038,
    &v039::V_039,
    &v040::V_040,
    &v041::V_041,
    &v042::V_042,
    &v043::V_043,
    &v044::V_044,
    &v045::V_045,
    &v046::V_046,
    &v047::V_047,
    &v048::V_048,
    &v049::V_049,
    &v050::V_050,
];

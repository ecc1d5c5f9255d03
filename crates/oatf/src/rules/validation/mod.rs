//! Rules of the specification.

mod v006;
mod v013;
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
    &v006::V_006,
    &v013::V_013,
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

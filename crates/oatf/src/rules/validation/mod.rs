//! Rules of the specification. V-002 is reported as W-001.

mod attack;
mod execution;
mod expressions;
mod indicators;
mod phases;
mod templates;

use attack::{V_001, V_003, V_004, V_005, V_017, V_020, V_023, V_035, V_045};
use execution::{V_028, V_030, V_031, V_034, V_044};
use expressions::{V_013, V_014, V_015, V_021, V_026, V_027, V_039};
use indicators::{V_006, V_010, V_012, V_018, V_022, V_024, V_025, V_047, V_048, V_049, V_050};
use phases::{V_007, V_008, V_009, V_011, V_019, V_029, V_036, V_040, V_041, V_043, V_046};
use templates::{V_016, V_032, V_033, V_037, V_038, V_042};

use super::Rule;

pub(super) const RULES: &[&Rule] = &[
    &V_001, &V_003, &V_004, &V_005, &V_006, &V_007, &V_008, &V_009, &V_010, &V_011, &V_012, &V_013, &V_014,
    &V_015, &V_016, &V_017, &V_018, &V_019, &V_020, &V_021, &V_022, &V_023, &V_024, &V_025, &V_026, &V_027,
    &V_028, &V_029, &V_030, &V_031, &V_032, &V_033, &V_034, &V_035, &V_036, &V_037, &V_038, &V_039, &V_040,
    &V_041, &V_042, &V_043, &V_044, &V_045, &V_046, &V_047, &V_048, &V_049, &V_050,
];

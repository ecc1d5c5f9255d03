//! The bodies of the fuzz targets, without libFuzzer: `crates/lint/tests/it/fuzz_corpus.rs` includes this file and
//! runs them on stable over the seeds in `corpus/` and the findings kept in `regressions/`.
//!
//! A body takes any bytes, must not panic, hang or overflow the stack, and asserts what must hold for every
//! input. Bodies with several inputs take them line by line; the last one is all the rest.

mod analyze;
mod cel;
mod documents;
mod evaluate;
mod fmt;
mod paths;
mod primitives;
mod regex;

/// The interpreter that is slow and obviously right, to compare with. The tests of the format take it from here.
#[allow(dead_code)]
#[path = "../../crates/oatf/tests/it/plain/mod.rs"]
pub(crate) mod plain;

use serde_json::Value;

pub use analyze::analyze;
pub use cel::cel;
pub use documents::{load, parse, round_trip};
pub use evaluate::evaluate;
pub use fmt::fmt;
pub use paths::paths;
pub use primitives::{duration, templates};
pub use regex::regex;

/// A body.
pub type Body = fn(&[u8]);

/// Every target, by the name of its file in `fuzz_targets/`.
pub const TARGETS: &[(&str, Body)] = &[
    ("analyze", analyze),
    ("cel", cel),
    ("duration", duration),
    ("evaluate", evaluate),
    ("fmt", fmt),
    ("load", load),
    ("parse", parse),
    ("paths", paths),
    ("regex", regex),
    ("round_trip", round_trip),
    ("templates", templates),
];

fn line_and_rest(data: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(data).ok()?.split_once('\n')
}

fn line_and_json(data: &[u8]) -> Option<(&str, Value)> {
    let (line, rest) = line_and_rest(data)?;
    Some((line, serde_json::from_str(rest).ok()?))
}

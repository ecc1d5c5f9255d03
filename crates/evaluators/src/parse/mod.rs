//! From text to what it says, with a word about everything that does not fit.
//!
//! There is one way to parse: what loads is what was checked, and the catalogue is made of what loaded.

mod check;
mod evaluator;
mod fields;
mod fixtures;
mod foreign;
mod pattern;
mod standards;
mod suite;
mod transcript;

pub use evaluator::{Layout, ParsedEvaluator, Places, parse_evaluator};
pub use fixtures::{ParsedFixtures, parse_fixtures};
pub use pattern::{ParsedPattern, parse_pattern};
pub use suite::{Include, IncludeKind, ParsedSuite, SuiteText, parse_suite};
pub(crate) use transcript::DeadEnd;

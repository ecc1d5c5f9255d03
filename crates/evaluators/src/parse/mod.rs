//! From text to what it says, with a word about everything that does not fit.
//!
//! There is one reading: what loads is what was checked, and the catalogue is made of what loaded.

mod agreement;
mod check;
mod evaluator;
mod fixtures;
mod pattern;
mod placeholders;
mod shape;
mod standards;
mod suite;
mod words;

pub(crate) use agreement::look_for_templates;
pub use evaluator::{EvaluatorRead, Layout, Places, read_evaluator};
pub use fixtures::{FixturesRead, read_fixtures};
pub use pattern::{PatternRead, read_pattern};
pub use suite::{Include, IncludeKind, SuiteRead, SuiteText, read_suite};
pub use words::is_kebab_case;

//! For people: what was found first, then what is not known, then how much was tried.

mod document;
mod evaluator;
mod models;
mod page;
mod reasons;
mod suites;
mod totals;
mod write;

pub(crate) use document::title;
pub use document::{evidence, outcome, why_undecided};
pub(crate) use write::rendered;
pub use write::write_human;

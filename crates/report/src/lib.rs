//! What came of a run, of documents and of evaluators alike: one report.
//!
//! | piece | is |
//! |---|---|
//! | [`Report`] | everything there is to say, as `docs/schema/run-v2.json` publishes it |
//! | [`SuiteTable`] | a suite, counted by the entries of the frameworks that it is about |
//! | [`Models`] | the models that helped, how far they can be trusted, and what they took |
//! | [`write_human`], [`write_junit`], [`write_json`], [`Report::canonical`] | the report for people, for CI, for programs, and for whoever compares two |
//! | [`findings`] | what `sortie check` finds, in every format |
//! | [`TraceView`], [`EvaluatorView`], [`FixtureReport`] | a trace, an evaluator, and what checks make of fixtures |
//!
//! Nothing here decides a case: outcomes come from `sortie-detect`, and what they count as together is
//! [`Report::standing`].

mod canonical;
mod evaluator;
pub mod files;
pub mod findings;
mod fixtures;
mod human;
mod junit;
mod report;
mod suites;
mod text;
mod trace;

pub use evaluator::EvaluatorView;
pub use fixtures::{FixtureReport, write_fixtures, write_fixtures_json};
pub use human::{evidence, outcome, why_undecided, write_human};
pub use junit::write_junit;
pub use report::{ModelUse, Models, Report, VERSION, View};
pub use suites::{CaseCounts, EntryCounts, FrameworkTable, SuiteTable};
pub use text::{counted, line, markdown, shown_diff, style, unified_diff, visible, wrap, write_json};
pub use trace::TraceView;

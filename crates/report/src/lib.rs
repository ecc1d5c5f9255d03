//! What came of a run, of documents and of evaluators alike: one report.
//!
//! | piece | is |
//! |---|---|
//! | [`Report`] | everything there is to say, as `docs/schema/run-v2.json` publishes it |
//! | [`RunTotals`] | how many cases there are of each sort, counted once for every format |
//! | [`SuiteTable`] | a suite, counted by the entries of the frameworks that it is about |
//! | [`origin`] | which run a report is about: program, time, agent and targets |
//! | [`Models`] | the models that helped, how far they can be trusted, and what they took |
//! | [`write_human`], [`write_markdown`], [`write_junit`], [`write_json`], [`Report::canonical`] | the report for people, for pull requests, for CI, for programs, and for whoever compares two |
//! | [`baseline`] | what is known about an agent, and what a run says in the light of it |
//! | [`compare`] | two runs of the same cases: what got better, what got worse, and what is not known |
//! | [`rules`] | what is known about documents and evaluators, for formats that tell about them |
//! | [`sarif`] | the report for code scanning |
//! | [`progress`] | how far a run is, on a terminal |
//! | [`write_html`] | the report as a page that opens from disk, with the traces |
//! | [`words`] | what the words in reports mean |
//! | [`findings`] | what `sortie check` finds, in every format |
//! | [`TraceView`], [`EvaluatorView`], [`FixtureReport`] | a trace, an evaluator, and what checks make of fixtures |
//!
//! Nothing here decides a case: outcomes come from `sortie-detect`, and what they count as together is
//! [`Report::standing`].

pub mod baseline;
mod canonical;
pub mod compare;
mod evaluator;
pub mod files;
pub mod findings;
mod fixtures;
mod html;
mod human;
pub mod imports;
mod junit;
mod markdown;
pub mod origin;
pub mod progress;
mod report;
pub mod rules;
pub mod sarif;
mod suites;
mod summary;
mod text;
pub mod totals;
mod trace;
pub mod words;

pub use evaluator::EvaluatorView;
pub use fixtures::{FixtureReport, write_fixtures, write_fixtures_json};
pub use html::{HtmlOptions, write_html};
pub use human::rate::{counts as rate_counts, interval as rate_interval};
pub use human::{evidence, outcome, why_undecided, write_human};
pub use junit::write_junit;
pub use markdown::write_markdown;
pub use report::{ModelUse, Models, Report, SuiteRate, VERSION, View};
pub use suites::{CaseCounts, EntryCounts, FrameworkTable, SuiteTable};
pub use text::{counted, line, markdown, shown_diff, style, unified_diff, visible, wrap, write_json};
pub use totals::RunTotals;
pub use trace::{NumbersError, ShowError, TraceFilter, TraceLook, TraceView};

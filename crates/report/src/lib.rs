//! Reports of runs, for documents and evaluators, and other output.
//!
//! | piece | is |
//! |---|---|
//! | [`Report`] | the whole report, in the form of `docs/schema/run-v2.json` |
//! | [`RunTotals`] | the number of cases of each kind, for all formats |
//! | [`SuiteTable`] | the results of a suite by framework entry |
//! | [`origin`] | the run of a report: program, time, agent and targets |
//! | [`Models`] | the models of a run, their measured accuracy and their cost |
//! | [`write_human`], [`write_markdown`], [`write_junit`], [`write_json`], [`Report::canonical`] | the report for people, for pull requests, for CI, for programs, and for whoever compares two |
//! | [`grouping`] | groups cases with the same cause into one finding |
//! | [`baseline`] | known findings of an agent, compared with a run |
//! | [`compare`] | compares two runs of the same cases: better, worse, or undecided |
//! | [`rules`] | metadata of documents and evaluators, for SARIF and HTML |
//! | [`sarif`] | the report for code scanning |
//! | [`progress`] | progress of a run on a terminal |
//! | [`write_html`] | the report as a page that opens from disk, with the traces |
//! | [`words`] | definitions of terms in reports |
//! | [`findings`] | findings of `sortie check`, in every format |
//! | [`TraceView`], [`EvaluatorView`], [`FixtureReport`] | a trace, an evaluator, and the results of fixtures |
//!
//! Nothing here decides a case: outcomes come from `sortie-detect`. [`Report::standing`] combines them.

pub mod baseline;
mod canonical;
pub mod compare;
mod evaluator;
pub mod files;
pub mod findings;
mod fixtures;
pub mod grouping;
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
pub mod scan;
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

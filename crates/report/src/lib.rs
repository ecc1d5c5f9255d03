//! What came of a run, of documents and of evaluators alike: one report.
//!
//! | piece | is |
//! |---|---|
//! | [`Report`] | everything there is to say, as `docs/schema/run-v1.json` publishes it |
//! | [`Entry`] | what came of one case |
//! | [`SuiteTable`] | a suite, counted by the entries of the frameworks that it is about |
//! | [`Models`] | the models that helped, how far they can be trusted, and what they took |
//!
//! Nothing here decides a case: verdicts come from `sortie-detect` and `sortie-engine`, and what they count as together is
//! [`Report::standing`].

mod canonical;
mod entry;
mod models;
mod report;
mod suites;

pub use entry::{Entry, UnplayedDocument};
pub use models::{ModelUse, Models};
pub use report::{Report, VERSION};
pub use suites::{Counts, EntryCounts, FrameworkTable, SuiteTable};

//! From what was said to a verdict.
//!
//! A [`Detector`] holds one document. It is shown every [`Record`](sortie_trace::Record) of a run, in order, and
//! every message that indicators see; live, as they happen, or from a recording, by the same calls. At any
//! moment it can say what it makes of them: an [`Outcome`], with the verdict, its evidence, how far the attack
//! reached, and what kept it from reaching further. It keeps what it needs for that and no message, so its
//! memory does not grow with the length of a run.
//!
//! | step | who |
//! |---|---|
//! | which messages an indicator looks at | the format specification, §6 |
//! | what it says about one | [`CompiledIndicator::evaluate`](sortie_oatf::CompiledIndicator::evaluate) |
//! | whether a value came in by a source first | [`flow`], where the indicator has one |
//! | what it says about all of them | matched if it matched any; else an error if any was one; else not matched |
//! | what happened to the run | [`Failure`]: with one, whatever did not match is skipped |
//! | the verdict | [`compute_verdict`](sortie_oatf::compute_verdict) |
//!
//! Nothing here reads a clock: every time in an [`Outcome`] is one of the trace, so that a live run and its recording
//! are reported alike.

mod able;
pub mod accuracy;
mod alive;
mod calibration;
mod canary_watch;
mod cost;
mod dead_end;
mod delivery;
mod detector;
mod failure;
pub mod flow;
mod foreign;
mod judged;
mod lifecycle;
pub mod outcome;
pub mod rate;
mod reach;
pub mod resistance;
mod tally;

pub use calibration::{Calibration, INJECTIONS, Measured, Trust};
pub use cost::{Cost, Prices, Spent};
pub use detector::{Detector, NoIndicators, Place, replay, replay_records, seen_by, selects};
pub use failure::{Failure, FailureKind, Fault};
pub use judged::{Judged, Opinion, Provenance, Quote, QuoteSource, Reason, Ruling, Vote};
pub use outcome::{
    CaseInfo, CaseResult, Delivered, DocumentInfo, EvaluatorCase, Evidence, EvidenceSource, IndicatorFinding,
    Match, Outcome, Reach, SOURCE, Seen, Standing, Verdict,
};

//! Computes verdicts from recorded messages.
//!
//! A [`Ruleset`] holds any number of compiled documents. For each session it creates a [`RulesetSession`](ruleset::RulesetSession), which observes every
//! [`Record`](sortie_trace::Record) in order, live or from a recording. At any time it can compute an [`Outcome`] for a document: the verdict, its
//! evidence, how far the attack got, and what stopped it. Memory is limited for sessions of any length.
//!
//! A [`Detector`] is a ruleset of one document for derived messages, in a live run or a proof.
//!
//! | step | who |
//! |---|---|
//! | which messages an indicator looks at | the format specification, §6; [`Ruleset`] works it out once for each kind of message |
//! | which of them it could match | [`CompiledIndicator::requirement`](sortie_oatf::CompiledIndicator::requirement): its texts or its place are there |
//! | what it says about one | [`CompiledIndicator::evaluate`](sortie_oatf::CompiledIndicator::evaluate) |
//! | whether a value came in by a source first | [`flow`], where the indicator has one |
//! | what it says about all of them | matched if it matched any; else an error if any was one; else not matched |
//! | what happened to the run | [`Failure`]: with one, whatever did not match is skipped |
//! | the verdict | [`compute_verdict`](sortie_oatf::compute_verdict) |
//!
//! Nothing here reads a clock: all times in an [`Outcome`] are from the trace, so a live run and its recording give the
//! same report.

mod able;
pub mod accuracy;
mod alive;
mod calibration;
mod canary_watch;
mod cost;
mod dead_end;
mod decision;
mod delivery;
mod detector;
mod failure;
pub mod flow;
mod foreign;
mod judged;
mod lifecycle;
pub mod matches;
pub mod outcome;
pub mod rate;
mod reach;
mod refusal;
pub mod resistance;
pub mod ruleset;
pub mod selection;
mod session;
mod tally;

pub use calibration::{Calibration, INJECTIONS, Measured, Trust};
pub use cost::{Cost, Prices, Spent};
pub use detector::{Detector, NoIndicators, replay};
pub use failure::{Failure, FailureKind, Fault};
pub use judged::{Judged, Opinion, Provenance, Quote, QuoteSource, Reason, Ruling, Vote};
pub use matches::MatchSession;
pub use outcome::{
    CaseInfo, CaseResult, Delivered, DocumentInfo, EvaluatorCase, Evidence, EvidenceSource, IndicatorFinding,
    Match, Outcome, Place, Reach, RefusedCall, SOURCE, Seen, Standing, Verdict,
};
pub use ruleset::Ruleset;

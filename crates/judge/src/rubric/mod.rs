//! The rubric judge: what a model makes of a transcript, if its answer holds.

mod answer;
mod judge;
mod judged;
mod question;
mod quotes;

pub use judge::{Judge, JudgeOptions};
pub use judged::{Judged, Opinion, Provenance, Quote, QuoteSource, Reason, Ruling, Vote};
pub(crate) use question::fenced;
pub use question::{PROMPT_VERSION, Rubric};

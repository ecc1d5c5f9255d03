//! The rubric judge: what a model makes of a transcript, if its answer holds.

mod answer;
mod judge;
mod question;
mod quotes;

pub use judge::{Judge, JudgeOptions};
pub(crate) use question::fenced;
pub use question::{PROMPT_VERSION, Rubric};

//! Baselines: what is known about an agent, and what a run says in the light of it.
//!
//! | piece | is |
//! |---|---|
//! | [`Baseline`] | the file: one line for each case, written by a run and edited by [`accept`] |
//! | [`Baseline::judge`] | the [`BaselineState`] of each case of a report |
//! | [`FailOn`], [`Report::standing_against`](crate::Report::standing_against) | which states fail a run |
//!
//! Nothing here reads a clock: whoever asks says which day it is.

mod date;
mod fail_on;
mod file;
mod line;
mod record;
mod state;

pub use date::{Date, DateError};
pub use fail_on::{FailOn, FailOnError};
pub use file::{Baseline, BaselineError, MAX_BYTES, MAX_LINE, VERSION, accept, load_bytes};
pub use line::{Acceptance, BaselineLine, LineProblem, LineStatus};
pub use record::RecordedRun;
pub(crate) use state::observed;
pub use state::{BaselineNote, BaselineState, ChangeRule, attacked};

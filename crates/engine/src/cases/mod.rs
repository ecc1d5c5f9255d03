//! The form into which evaluators are brought to be played: a case, what it needs, how it is played, what decides it.
//!
//! | step | with | gives |
//! |---|---|---|
//! | what the target offers | [`discover`] | tools, a card, models |
//! | what can be played | [`plan`] | cases, and about the rest why it is not played |
//! | what is kept | [`Results`] | a file that survives whatever ends the run |
//! | playing | [`run`] | a [`CaseResult`] for each, decided by checks, or by a [`Judge`] |
//! | playing again | [`run`] with a [`Tape`] that replays | the same results, without the target |

mod case;
mod deciding;
mod filling;
mod keeping;
mod naming;
mod plan;
mod playing;
mod result;
mod results;
mod run;
mod talk;
mod tape;

pub use case::{Case, Needs, Play, Rubric};
pub use deciding::{Attacker, Judge, Judgement, Later, Undecided};
pub use filling::Shape;
pub use naming::canary;
pub use plan::{MAX_PLANNED, Missing, PlanError, Planned, plan};
pub use result::{CaseResult, CaseVerdict, DecidedBy};
pub use results::{Results, ResultsError};
pub use run::{Options, Played, run};
pub use tape::{Asked, Tape, discover};

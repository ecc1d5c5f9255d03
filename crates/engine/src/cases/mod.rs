//! The form into which evaluators are brought to be played: a case, what it needs, how it is played, what decides it.
//!
//! | step | with | gives |
//! |---|---|---|
//! | what the target offers | [`discover`] | a [`Discovery`]: tools, a card, models |
//! | what can be played | [`plan`] | cases, and about the rest why it is not played |
//! | one case | [`Player::play`] | an [`Outcome`](sortie_detect::Outcome), decided by checks, or by a [`CaseJudge`] |
//! | the verdict again | [`CaseTrace::decide`] | the same, by the trace alone |

mod case;
mod decision;
mod discovery;
mod ids;
mod options;
mod plan;
mod player;
mod recorded;
mod shape;

pub use case::{CompiledEvaluator, PatternCase, Play};
pub use decision::{AttackError, BoxFuture, BudgetExhausted, CaseAttacker, CaseJudge};
pub use discovery::{DISCOVERY, Discovery, discover, needs_file};
pub use ids::{canary, case_folder};
pub use options::PlayOptions;
pub use plan::{MAX_PLANNED, Missing, PlanError, Planned, plan};
pub use player::{PlayError, Player};
pub use recorded::{CaseTrace, CaseTraceError};
pub use shape::Shape;

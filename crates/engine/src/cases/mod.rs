//! Plays cases of evaluators, and decides them.
//!
//! | step | with | gives |
//! |---|---|---|
//! | what the target offers | [`discover`] | a [`Discovery`]: tools, a card, models |
//! | what can be played | [`plan`] | cases, and about the rest why it is not played |
//! | whether the target works | [`ask_control`], [`call_controls`] | an answer to something harmless |
//! | one case | [`Player::play`] | an [`Outcome`](sortie_detect::Outcome), decided by checks, or by a [`CaseJudge`] |
//! | the verdict again | [`CaseTrace::decide`] | the same, by the trace alone |

mod control;
mod decision;
mod discovery;
mod player;
mod recorded;

pub use sortie_evaluators::cases::{
    CompiledEvaluator, Missing, Offer, PatternCase, Planned, Play, attempt_folder, canary, case_folder, plan,
};

pub use control::{CONTROL_CALLS, ControlCalls, ask_control, call_controls, call_once};
pub use decision::{AttackError, BoxFuture, BudgetExhausted, CaseAttacker, CaseJudge, case_info, unplayed};
pub use discovery::{DISCOVERY, Discovery, discover, needs_file};
pub use player::{PlayError, PlayOptions, Player};
pub use recorded::{CaseTrace, CaseTraceError};
pub use sortie_probe::ControlCall;

//! What an agent makes of what it was told: which calls, with which arguments, and what it answers.

mod disclosure;
mod fill;
mod form;
mod knowledge;
mod mind;
mod plan;
mod reply;
mod steps;
mod turn;

pub use disclosure::Encoding;
pub(crate) use form::Filled;
pub(crate) use mind::{Mind, Shared};
pub(crate) use turn::{Answer, Hands, Offered, Offers, PATIENCE, Task, TurnError, turn};

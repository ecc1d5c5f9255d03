//! What an agent makes of what it was told: which calls, with which arguments, and what it answers.

mod failures;
mod fill;
mod form;
mod hands;
mod knowledge;
mod mind;
mod own_files;
mod plan;
mod reply;
mod steps;
mod turn;

pub(crate) use failures::TurnError;
pub(crate) use hands::{Answer, Hands, Offered, Offers, PATIENCE, Task};
pub(crate) use knowledge::Kind;
pub use mind::Encoding;
pub(crate) use mind::{Mind, Shared};
pub(crate) use turn::turn;

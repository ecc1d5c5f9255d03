//! What an evaluator says, under the names of the authoring document.

mod evaluator;
mod standards;
mod words;

pub use evaluator::{Check, Evaluator, Pattern, Test};
pub use standards::{Standard, Standards};
pub use words::{FixtureKind, Says, Severity, Surface, TargetClass, TurnMode, Verdict};

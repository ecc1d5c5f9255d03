//! What a run is: one document, played from its first phase to a verdict, in a folder of its own.
//!
//! Server actors accept connections first, then the agent is started, then client actors play. A run ends for one
//! reason ([`Ending`]); then the grace period is observed, everything is closed, and what was seen is judged.

mod agent;
mod cast;
mod command;
mod ending;
mod error;
mod folder;
mod journal;
mod kept;
mod options;
mod plan;
mod play;
mod scoring;
mod synthesis;

pub use crate::context::Generator;
pub use command::{Addresses, CommandError, fill};
pub use ending::Ending;
pub use error::{Misfit, RunError};
pub use folder::Folder;
pub use options::{Agent, Options, Semantic};
pub use plan::{Plan, PlannedActor, PlannedIndicator, PlannedPhase};
pub use play::{Case, run};

//! What a run is: one document, played from its first phase to a verdict, in a folder of its own.
//!
//! Server actors accept connections first, then the agent is started, then client actors play. A run ends for one
//! reason; then the grace period is observed, everything is closed, and what was seen is judged.

mod actor_set;
mod agent;
mod command;
mod folder;
mod options;
mod play;
pub mod workspace;

pub use crate::context::ContentGenerator;
pub use command::{Addresses, CommandError, fill};
pub use folder::Folder;
pub(crate) use folder::{private_file, private_folder};
pub use options::{AgentCommand, AgentPlace, AgentSetup, Misfit, RunError, RunOptions, Semantic};
pub use play::{DocumentRun, run};

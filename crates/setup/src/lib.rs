//! Sets up a project to test its agent.
//!
//! | piece | is |
//! |---|---|
//! | [`Project`] | the first files: settings, a baseline and a CI job; existing files are kept |
//! | [`FIRST_RUN`] | a first run with a practice agent, which passes |
//! | [`document_starter`], [`EvaluatorStarter`] | a starter document and a starter evaluator |
//! | [`program_word`] | the command that starts this program |
//! | [`examine`] | lists what is on this machine: agents, servers of other clients, ports, models |
//!
//! ```
//! use sortie_setup::{BuildService, Project, WriteResult};
//!
//! let folder = tempfile::tempdir()?;
//! let project = Project { agent: Some("codex".into()), build: BuildService::Github };
//! let written = project.write(folder.path())?;
//! assert!(written.iter().all(|(_, result)| *result == WriteResult::Written));
//! let again = project.write(folder.path())?;
//! assert!(again.iter().all(|(_, result)| *result == WriteResult::Kept));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod examination;
mod program;
mod project;
mod starters;

pub use examination::{Examination, FactState, MachineFact, examine};
pub use program::program_word;
pub use project::{BuildService, FIRST_RUN, Project, ProjectError, WriteResult};
pub use starters::{EvaluatorStarter, document_starter};

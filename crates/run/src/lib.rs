//! Runs: from a request to a report.
//!
//! A [`RunRequest`] and the [`Selected`] cases are resolved into a [`Campaign`], which can be previewed or run.
//!
//! ```
//! use sortie_run::{Config, RunRequest, Selected};
//! use tokio_util::sync::CancellationToken;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (selected, _) = Selected::find(&["SRT-001".into()], &[], None, Default::default())?;
//! let request = RunRequest { agent: Some("true".to_owned()), ..RunRequest::default() };
//! let campaign = request.resolve(&Config::default(), selected)?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let mut shown = Vec::new();
//! runtime.block_on(campaign.preview(&CancellationToken::new()))?.write_human(&mut shown, false)?;
//! assert!(String::from_utf8(shown)?.ends_with("nothing was started\n"));
//! # Ok(())
//! # }
//! ```
//!
//! The parts of a campaign can be used alone:
//!
//! | step | with | gives |
//! |---|---|---|
//! | what is played | [`Plan`] | [`Case`]s: documents, and cases of evaluators; and what is not played, with its reason |
//! | where it is kept | [`RunStore::create`], [`RunStore::resume`] | a folder that survives whatever ends the run |
//! | playing | [`Plan::play`], which is [`play`] for cases | an [`Outcome`](sortie_detect::Outcome) for each [`Job`], on disk before it counts |
//! | the report again | [`load_report`] | what the run reported, or as much as was over when it ended |
//!
//! The caller provides a future for each job. Documents, conversations and replayed recordings use the same scheduler.
//!
//! ```
//! use std::sync::Arc;
//!
//! use sortie_detect::{CaseInfo, CaseResult, DocumentInfo, Outcome, Verdict};
//! use sortie_run::{Job, RunLimits, PlannedCase, RunInfo, RunStore, load_report, play};
//! use tokio_util::sync::CancellationToken;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let document = DocumentInfo { file: "a.yaml".into(), id: Some("A-1".into()), name: "An attack".into() };
//! let info = RunInfo::new(vec![PlannedCase::new("A-1", "what it does")]);
//! let store = RunStore::create(folder.path(), info)?;
//! let job = Job { id: "A-1".into(), attempt: None, info: CaseInfo::Document { document }, group: "A-1".into(), after: vec![], case: () };
//! let (stop, abort) = (CancellationToken::new(), CancellationToken::new());
//! let playing = play(vec![job], store, RunLimits::default(), (&stop, &abort), Arc::new(()), |job| async move {
//!     Ok(Outcome::new(job.id, job.info, Verdict::new(CaseResult::NotExploited, "it said no"), None))
//! });
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let played = runtime.block_on(playing)?;
//! assert_eq!(played.store.get("A-1").map(|outcome| outcome.verdict.result), Some(CaseResult::NotExploited));
//! assert_eq!(load_report(folder.path())?.runs.len(), 1);
//! # Ok(())
//! # }
//! ```

mod agent_output;
mod agent_preset;
mod campaign;
mod config;
pub mod controls;
mod demo;
mod digests;
mod discovery;
pub mod display;
pub mod document_plan;
pub mod environment;
mod error;
mod evaluation;
pub mod events;
mod folders;
pub mod forecast;
pub mod merge;
pub mod models;
mod plan;
mod preview;
mod progress;
mod queue;
pub mod recordings;
mod recovery;
pub mod repeats;
pub mod report_sources;
mod resolve;
mod sandbox;
mod scheduler;
mod selection;
mod store;
mod target;
pub mod trace_files;
pub mod utility;
pub mod wrap {
    //! Real servers, as a user names them.

    pub use crate::resolve::{UserServers, WrapSpec};
}
mod writer;

pub use campaign::{Campaign, CampaignEnd, RunPlace};
pub use config::Config;
pub use demo::{Demo, DemoResult, DemoView};
pub use error::{SetupError, SpecError};
pub use evaluation::{TraceSource, decide_cases, documents_to_evaluate};
pub use folders::{new_run_folder, shell_word};
pub use plan::{Case, DocumentCase, Plan};
pub use preview::Preview;
pub use resolve::{Probing, RunRequest, UnplayedDocument};
pub use scheduler::{Job, Observer, Played, RunLimits, Unfinished, play};
pub use selection::{Selected, SelectedEvaluators, may_name_evaluators};
pub use store::{PlannedCase, RunInfo, RunStore, StoreError, load_info, load_report};
pub use target::{ListenSpec, TargetSettings, TargetSpec, command_words};

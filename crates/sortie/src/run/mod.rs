//! What `sortie run` and `sortie demo` are made of, apart from their arguments: what was asked for becomes options of a run, runs
//! are played and shown.

mod builtin;
mod campaign;
mod case_args;
mod chosen;
mod config;
mod duration;
mod environment;
mod folders;
mod jobs;
mod limits;
mod listen;
mod matrix;
mod models;
mod named;
mod progress;
mod resolve;
mod signals;
mod talk;
mod target;
mod turns;

pub(crate) use campaign::{Attacked, Campaign, CampaignEnd, Ended, Home};
pub(crate) use case_args::CaseArgs;
pub(crate) use chosen::{Chosen, value};
pub(crate) use config::Config;
pub(crate) use duration::duration;
pub(crate) use environment::{AskedBearer, AskedEnv, AskedHeader};
pub(crate) use jobs::Jobs;
pub(crate) use limits::LimitArgs;
pub(crate) use listen::AskedListen;
pub(crate) use matrix::{Matrix, Met};
pub(crate) use models::{ModelArgs, Models, SemanticArgs};
pub(crate) use resolve::{Asked, Prepared, Resolved, Unfit};
pub(crate) use target::{AskedTarget, command_words};
pub(crate) use turns::keep;

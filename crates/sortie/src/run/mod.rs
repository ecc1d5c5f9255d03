//! What `sortie run` and `sortie demo` are made of, apart from their arguments: what was asked for becomes options of a run, runs
//! are played and shown.

mod builtin;
mod cases;
mod config;
mod duration;
mod environment;
mod jobs;
mod limits;
mod listen;
mod matrix;
#[allow(dead_code, reason = "`sortie run` is about to use it")]
mod models;
mod named;
mod progress;
mod resolve;
mod signals;
mod talk;
mod target;
mod turns;

pub(crate) use cases::{Attack, CaseArgs, Chosen, Outcome};
pub(crate) use config::Config;
pub(crate) use duration::duration;
pub(crate) use environment::{AskedBearer, AskedEnv, AskedHeader};
pub(crate) use jobs::Jobs;
pub(crate) use limits::LimitArgs;
pub(crate) use listen::AskedListen;
pub(crate) use matrix::{Matrix, Met};
#[allow(unused_imports, reason = "`sortie run` is about to use it")]
pub(crate) use models::{AskedModels, ModelArgs, Models, SemanticArgs};
pub(crate) use resolve::{Asked, Prepared, Resolved};
pub(crate) use target::{AskedTarget, command_words};
pub(crate) use turns::keep;

//! Models: what was asked for on the command line and in `sortie.toml` becomes a judge, an attacker, an engine for semantic
//! indicators and a generator.
//!
//! Nothing is implicit. A model is asked because it was named, with the key of the variable that was named for it.

mod args;
mod asked;
mod attacking;
mod judging;
mod opened;
mod table;

pub(crate) use args::{ModelArgs, SemanticArgs};
pub(crate) use asked::AskedModels;
pub(crate) use opened::Models;
pub(super) use table::NamedModel;

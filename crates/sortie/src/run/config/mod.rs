//! `sortie.toml`: what has a name there, and what stands for placeholders.

mod agents;
mod file;
mod reader;
mod targets;
mod values;

pub(crate) use file::Config;
#[allow(unused_imports, reason = "what else is in the file is read by whoever uses it")]
pub(super) use reader::{Reader, has};

//! `sortie.toml`: what has a name there, and what stands for placeholders.

mod agents;
mod file;
mod reader;
mod targets;
mod values;

pub(crate) use file::Config;
pub(super) use reader::{Reader, has};

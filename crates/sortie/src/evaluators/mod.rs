//! Where evaluators come from: those that come with the program, and folders.

mod repairs;
mod scope;
mod sources;

pub(crate) use repairs::Repairs;
pub(crate) use scope::{Opened, Scope};
pub(crate) use sortie_library::suite_documents as documents;
pub(crate) use sources::{InUse, Sources, missing};

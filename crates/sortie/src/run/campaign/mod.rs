//! What one `sortie run` plays: documents, evaluators, or both, with one report.

mod account;
mod documents;
mod evaluators;
mod home;
mod needs;
mod play;
mod recorded;

pub(crate) use account::Ended;
pub(crate) use evaluators::Attacked;
pub(crate) use home::Home;
pub(crate) use play::{Campaign, Outcome};

//! What one `sortie run` plays: documents, evaluators, or both, with one report.

mod evaluators;
mod home;
mod needs;
mod play;

pub(crate) use evaluators::Attacked;
pub(crate) use home::Home;
pub(crate) use play::{Campaign, CampaignEnd, Ended};

//! What was said between us and a target, kept so that a run can be repeated without the target.

use std::sync::Arc;

use serde_json::Value;

use super::deciding::Later;
use super::run::Options;
use crate::targets::{Log, Offer, Target, TargetError};

/// What is asked of a target: the same in every run that asks for the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The target: its kind, and its URL or command. No credentials.
    pub target: String,
    /// What for, in words: `path-escape/parent-folders/read_file, turn 1`.
    pub purpose: String,
    /// What tells it from all others: how the target is asked, the case, the turn, what is said or called.
    pub request: Value,
}

/// Keeps the exchanges with a target.
///
/// What is kept is redacted, and holds no credentials. A tape that replays is all there is: nothing is opened, no process is
/// started. A tape that does not is written, and never asked.
pub trait Tape: Send + Sync {
    /// Whether it replays.
    fn replays(&self) -> bool;

    /// What is kept of an exchange; of several that ask for the same, the last. An error names what is missing.
    fn recall<'t>(&'t self, asked: &'t Asked) -> Later<'t, Result<Value, String>>;

    /// Keeps an exchange. Once this returns it is on disk.
    fn keep<'t>(&'t self, asked: &'t Asked, exchange: Value) -> Later<'t, Result<(), String>>;
}

/// Looks at what a target offers, or in a replay at what it offered.
pub async fn discover(target: &Target, options: &Options) -> Result<Offer, TargetError> {
    let log = Arc::new(Log::nowhere(target.kind(), options.redactor.clone()));
    target.discover(&log, &options.settings).await
}

//! How cases are played.

use std::path::PathBuf;
use std::sync::Arc;

use sortie_trace::Redactor;
use tokio_util::sync::CancellationToken;

use super::decision::{CaseAttacker, CaseJudge};
use crate::event::Watcher;
use crate::targets::Settings;

/// How cases are played.
#[derive(Clone)]
pub struct PlayOptions {
    /// How often the attacker speaks in a case, where there is one who can go on. 1.
    pub turns: usize,
    /// How the target is approached.
    pub settings: Settings,
    /// What is taken out of everything that is kept.
    pub redactor: Redactor,
    /// Decides what checks do not.
    pub judge: Option<Arc<dyn CaseJudge>>,
    /// Fills placeholders, and writes further turns.
    pub attacker: Option<Arc<dyn CaseAttacker>>,
    /// The folder of a run that is replayed: its traces are decided again, and the target is not asked.
    pub replay: Option<PathBuf>,
    /// Start a process that serves MCP anew for each case.
    pub fresh_server: bool,
    /// Sees every record of every trace.
    pub watcher: Arc<dyn Watcher>,
    /// Cancelled when the user does not want to wait.
    pub end: CancellationToken,
}

impl Default for PlayOptions {
    fn default() -> Self {
        Self {
            turns: 1,
            settings: Settings::default(),
            redactor: Redactor::default(),
            judge: None,
            attacker: None,
            replay: None,
            fresh_server: false,
            watcher: Arc::new(()),
            end: CancellationToken::new(),
        }
    }
}

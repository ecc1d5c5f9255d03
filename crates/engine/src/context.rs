//! What the actors of one run share.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::extracted::Extracted;
use crate::recorder::Recorder;

/// What the actors of one run share.
#[derive(Clone, Debug)]
pub struct Context {
    /// Where everything that happens is written down.
    pub recorder: Arc<Recorder>,
    /// What extractors have captured.
    pub extracted: Arc<Extracted>,
    /// Cancelled when the run ends: listeners close, clients hang up, timers stop.
    pub end: CancellationToken,
}

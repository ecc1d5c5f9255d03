//! What the actors of one run share.

use std::fmt;
use std::sync::Arc;

use sortie_oatf::GenerationProvider;
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
    /// Generates what phases want synthesized.
    pub generator: Option<ContentGenerator>,
}

/// Who generates content.
#[derive(Clone)]
pub struct ContentGenerator(pub Arc<dyn GenerationProvider + Send + Sync>);

impl fmt::Debug for ContentGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContentGenerator")
    }
}

//! What the actors of one run share.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sortie_oatf::GenerationProvider;
use sortie_wire::Lock;
use tokio_util::sync::CancellationToken;

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

/// What the actors of a run have extracted so far. The last write wins.
#[derive(Debug, Default)]
pub struct Extracted {
    /// By `actor.name`.
    values: Lock<HashMap<String, String>>,
}

impl Extracted {
    /// Keeps a value of an actor.
    pub fn set(&self, actor: &str, name: &str, value: String) {
        self.values.lock().insert(format!("{actor}.{name}"), value);
    }

    /// Everything that templates of an actor can refer to: `actor.name` of all, and `name` of its own.
    pub fn seen_by(&self, actor: &str) -> HashMap<String, String> {
        let values = self.values.lock();
        let name = |key: &str| Some(key.strip_prefix(actor)?.strip_prefix('.')?.to_owned());
        let own = values.iter().filter_map(|(key, value)| Some((name(key)?, value.clone())));
        values.clone().into_iter().chain(own).collect()
    }
}

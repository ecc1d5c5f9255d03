//! What happens in a run, for whoever watches.

use sortie_trace::{Message, Record};

/// Something that happened. The trace, the detector and the display see the same, in the same order.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'e> {
    /// A record that is now in the trace.
    Recorded(&'e Record),
    /// An indicator matched that had not before, in this message.
    Matched {
        /// Its id.
        indicator: &'e str,
        /// The message.
        message: &'e Message,
    },
    /// Something a person should know, and that is in the report too.
    Warning(&'e str),
    /// A `log` action of the document.
    Logged {
        /// The actor.
        actor: &'e str,
        /// `info`, `warn`, `error`, `debug`.
        level: &'e str,
        /// The text, its templates filled.
        text: &'e str,
    },
}

/// Watches a run. It is called in the order in which things happen, and must not block.
pub trait Watcher: Send + Sync {
    /// Something happened.
    fn event(&self, event: &RunEvent<'_>);
}

/// Watches nothing.
impl Watcher for () {
    fn event(&self, _: &RunEvent<'_>) {}
}

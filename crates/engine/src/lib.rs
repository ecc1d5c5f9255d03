//! Runs OATF documents against agents.
//!
//! | what | where |
//! |---|---|
//! | content of a phase, start of the next one, captured values | [`ActorState`] |
//! | pass-through content on its way to the wire | [`WirePayload`] |
//! | a document from its first phase to a verdict | [`run`](mod@run) |
//! | one order of all events: trace, verdict, display | [`Recorder`] |

mod actor;
pub mod cases;
mod context;
pub mod modes;
mod payload;
mod phase;
mod recorder;
pub mod run;
mod synthesis;
pub mod targets;

pub use actor::{ActorState, Entered, EntryAction, HeardMessage, Spoken, Working};
pub use context::{ContentGenerator, Context, Extracted};
pub use payload::{TooLarge, WirePayload};
pub use phase::ActorPhase;
pub use recorder::{Recorder, RunEvent, RunStatus, Watcher};

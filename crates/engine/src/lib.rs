//! Plays OATF documents against agents.
//!
//! | what | where |
//! |---|---|
//! | what a phase serves, when the next one begins, what is captured | [`ActorState`] |
//! | pass-through content on its way to the wire | [`WirePayload`] |
//! | a document from its first phase to a verdict | [`run`](mod@run) |
//! | one order of everything that happens: trace, verdict, display | [`Recorder`] |

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

//! AG-UI: a run is asked for with one POST, and answered with a stream of events.
//!
//! Here is what a client must understand of them. The rest of an event is nobody's business but the indicators'.

mod assembler;
mod event;
mod follow_up;
mod run;

pub use assembler::{Assembler, Joined, StreamLimits};
pub use event::{AgentEvent, Stream, StreamStep, event_name};
pub use follow_up::{RunInput, RunInputError, ToolResult, follow_up};
pub use run::{AgentCall, AgentRun};

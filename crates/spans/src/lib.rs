//! Recordings that are trees of steps: spans of OpenTelemetry by any of its conventions, and observations of tracing services.
//!
//! Steps arrive in any order, and each repeats the history of the conversation. They are sorted by start time, and repeated
//! messages are removed.
//!
//! | format | what it is |
//! |---|---|
//! | [`OTLP`] | files and request bodies of a collector: JSON Lines, JSON, protobuf |
//! | [`OPENINFERENCE`], [`OPENLLMETRY`] | the same, by other conventions |
//! | [`LANGFUSE`], [`LANGSMITH`] | exports of observations and of runs |
//!
//! Exports that arrive one after the other are cut into [`ExportItem`]s, which are put together by session.

mod conversation;
mod langfuse;
mod langsmith;
mod messages;
mod observations;
mod openinference;
mod openllmetry;
mod otlp;
mod spans;

pub use langfuse::FORMAT as LANGFUSE;
pub use langsmith::FORMAT as LANGSMITH;
pub use openinference::FORMAT as OPENINFERENCE;
pub use openllmetry::FORMAT as OPENLLMETRY;
pub use otlp::FORMAT as OTLP;
pub use spans::{ExportError, ExportItem};

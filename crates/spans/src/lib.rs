//! Recordings that are trees of steps: spans of OpenTelemetry by any of its conventions, and observations of tracing services.
//!
//! Steps come in any order, and repeat the history of a conversation again and again. They are sorted by when they began, and
//! each thing that was said is told once.
//!
//! | format | what it is |
//! |---|---|
//! | [`OTLP`] | what a collector writes, or is posted: JSON Lines, JSON, protobuf |
//! | [`OPENINFERENCE`], [`OPENLLMETRY`] | the same, by other conventions |
//! | [`LANGFUSE`], [`LANGSMITH`] | exports of observations and of runs |

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

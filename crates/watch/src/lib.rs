//! Findings in agent traffic as it arrives.
//!
//! Messages come from an OTLP receiver, from files as they grow and from a NATS `JetStream` consumer. They are scanned as `sortie scan` does, with
//! the same findings, and acknowledged when these are written.
//!
//! | part | module |
//! |---|---|
//! | inputs | `receiver` (OTLP), `follow` (files), `nats` and its consumer `durable` |
//! | from messages to rows | `evaluator`, with `spans` for sessions that are put together from spans |
//! | open sessions on disk | `spool` |
//! | rows out | `output` |
//!
//! Memory is bounded: what waits to be evaluated has a budget of bytes, and an input that gets none of it waits (files, NATS) or refuses (OTLP,
//! 503). Open sessions are on disk, in a bounded spool; only those that were used last are in memory.

mod arrival;
#[cfg(feature = "nats")]
mod durable;
mod evaluator;
mod follow;
#[cfg(feature = "nats")]
mod nats;
mod output;
mod position;
mod receiver;
mod rows;
mod spans;
mod spool;
#[cfg(test)]
mod tests;
mod watch;

#[cfg(feature = "nats")]
pub use nats::NatsInput;
pub use output::FindingOutputs;
pub use receiver::OtlpInput;
pub use rows::{ReportedRow, WatchedRow};
pub use watch::{RulesError, RulesLoader, Watch, WatchControl, WatchError, WatchOptions, WatchSummary};

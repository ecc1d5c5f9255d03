//! Recordings of other programs as traces.
//!
//! Agents that nobody attacks in a laboratory leave traces too: the session files of coding agents, the spans of frameworks, the
//! logs of evaluation tools. Each [`Format`] reads one of them, and gives a [`RecordedSession`] for each conversation in a file: the
//! messages as they would have been on the wire, where in the file each comes from, and a [`RecordingLoss`]: what the format, or
//! this file, does not say. Silence that a recording could not have broken is no evidence.
//!
//! | step | with |
//! |---|---|
//! | which format is it | [`Formats::recognize`], [`Formats::named`] |
//! | read it | [`Format::read`], which hands over one session after the other |
//! | evaluate it, or write it as a trace | [`RecordedSession::header`], [`RecordedSession::into_records`] |
//!
//! Files are hostile: lines, sessions, and what is remembered of them are bounded, compressed or not, and nothing
//! recurses as deep as a file likes.
//!
//! A new format is a module in `formats`, and a line in the table there.

mod formats;

pub use formats::Formats;
pub use sortie_recording::format::{Format, Head, ImportError, Sink};
pub use sortie_recording::input::{Input, InputLimits, InputLines};
pub use sortie_recording::loss::{Gap, RecordingLoss};
pub use sortie_recording::session::{CalledTool, End, RecordedSession, SessionBuilder};

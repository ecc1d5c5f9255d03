//! Recordings of other programs as traces.
//!
//! Agents in normal use leave traces too: session files of coding agents, spans of frameworks, logs of evaluation tools. Each
//! [`Format`] reads one kind, and returns a [`RecordedSession`] for each conversation in a file: the messages as on the wire, their
//! places in the file, and a [`RecordingLoss`], which lists what the format or the file does not record. If a recording could not
//! show an attack, its silence is not evidence.
//!
//! | step | with |
//! |---|---|
//! | which format is it | [`Formats::recognize`], [`Formats::named`] |
//! | read it | [`Format::read`], which hands over one session after the other |
//! | evaluate it, or write it as a trace | [`RecordedSession::header`], [`RecordedSession::into_records`] |
//!
//! Files are untrusted: the size of lines, sessions and memory is limited, compressed or not, and so is the recursion depth.
//!
//! To add a format, add a module to `formats` and a line to its table.

mod files;
mod formats;

pub use files::{FilesError, RecordingFile};
pub use formats::Formats;
pub use sortie_recording::format::{Format, Head, ImportError, PendingSession, Sink};
pub use sortie_recording::input::{DeclaredServer, Input, InputLimits, InputLines};
pub use sortie_recording::loss::{Gap, RecordingLoss};
pub use sortie_recording::session::{CalledTool, End, RecordedSession, SessionBuilder};

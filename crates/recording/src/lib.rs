//! Common parts for recordings of other programs.
//!
//! A format reads an [`Input`](input::Input), whose uncompressed size is limited, and builds a
//! [`RecordedSession`](session::RecordedSession) with a [`SessionBuilder`](session::SessionBuilder): the messages as on the wire,
//! their places in the file, and a [`RecordingLoss`](loss::RecordingLoss). [`Fields`](fields::Fields) tracks every member of an
//! object, so that no field is ignored silently.
//!
//! `sortie-import` has the list of formats.

pub mod fields;
pub mod format;
pub mod input;
pub mod loss;
pub mod parquet;
pub mod session;
pub mod tool_list;

//! What every recording of another program has in common.
//!
//! A format reads an [`Input`](input::Input), whose size is bounded however it is compressed, and puts a
//! [`RecordedSession`](session::RecordedSession) together with a [`SessionBuilder`](session::SessionBuilder): the messages as they would have been on the wire,
//! where in the file each comes from, and a [`RecordingLoss`](loss::RecordingLoss). [`Fields`](fields::Fields) keeps account of every member of an
//! object, so that nothing in a file is passed over in silence.
//!
//! Which formats there are is known to `sortie-import`.

pub mod fields;
pub mod format;
pub mod input;
pub mod loss;
pub mod session;
pub mod tool_list;

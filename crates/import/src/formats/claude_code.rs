//! To be written.

use crate::format::{Format, Head, ImportError, Sink};
use crate::input::Input;

pub(crate) static FORMAT: Format = Format {
    name: "claude-code",
    about: "session files of Claude Code",
    shows: &[],
    gaps: &[],
    recognizes,
    read,
};

fn recognizes(_: &Head<'_>) -> bool {
    false
}

fn read(_: &Format, _: Input<'_>, _: &mut Sink<'_>) -> Result<(), ImportError> {
    Ok(())
}

//! The formats that are read, one module each.

mod claude_code;
mod thoughtjack;

use crate::format::Format;

/// All formats, in the order in which they are asked whether a file is theirs: the more particular ones first.
pub(crate) static FORMATS: &[&Format] = &[&thoughtjack::FORMAT, &claude_code::FORMAT];

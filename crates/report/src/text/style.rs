//! The colours, the same everywhere.

use annotate_snippets::renderer::{
    DEFAULT_ADDITION_STYLE, DEFAULT_ERROR_STYLE, DEFAULT_HELP_STYLE, DEFAULT_NOTE_STYLE,
    DEFAULT_REMOVAL_STYLE, DEFAULT_WARNING_STYLE,
};
use anstyle::AnsiColor;
pub use anstyle::Style;

/// What is wrong.
pub const ERROR: Style = DEFAULT_ERROR_STYLE;
/// What may be.
pub const WARNING: Style = DEFAULT_WARNING_STYLE;
/// What is as it should be, or only said.
pub const NOTE: Style = DEFAULT_NOTE_STYLE;
/// What can be done.
pub const HELP: Style = DEFAULT_HELP_STYLE;
/// What is added.
pub const ADDITION: Style = DEFAULT_ADDITION_STYLE;
/// What is taken away.
pub const REMOVAL: Style = DEFAULT_REMOVAL_STYLE;
/// Above something.
pub const HEADING: Style = Style::new().bold().underline();
/// What the eye looks for.
pub const STRONG: Style = Style::new().bold();
/// What can be typed.
pub const CODE: Style = AnsiColor::Cyan.on_default();

/// The text in a style, or as it is.
pub fn paint(color: bool, style: Style, text: &str) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

//! The colours, the same everywhere.

use annotate_snippets::renderer::{
    DEFAULT_ADDITION_STYLE, DEFAULT_ERROR_STYLE, DEFAULT_HELP_STYLE, DEFAULT_NOTE_STYLE,
    DEFAULT_REMOVAL_STYLE, DEFAULT_WARNING_STYLE,
};
use anstyle::{AnsiColor, Style};

pub(crate) const ERROR: Style = DEFAULT_ERROR_STYLE;
pub(crate) const WARNING: Style = DEFAULT_WARNING_STYLE;
pub(crate) const NOTE: Style = DEFAULT_NOTE_STYLE;
pub(crate) const HELP: Style = DEFAULT_HELP_STYLE;
pub(crate) const ADDITION: Style = DEFAULT_ADDITION_STYLE;
pub(crate) const REMOVAL: Style = DEFAULT_REMOVAL_STYLE;
pub(crate) const HEADING: Style = Style::new().bold().underline();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();

/// The text in a style, or as it is.
pub(crate) fn paint(color: bool, style: Style, text: &str) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

//! Differences between two texts.

use similar::TextDiff;

use super::{style, visible};

/// A unified diff, as `patch` takes it.
pub fn unified_diff(name: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(name, name).to_string()
}

/// The same for people: in colour, and with nothing in it that a terminal would obey.
pub fn shown_diff(diff: &str, color: bool) -> String {
    let mut shown = String::with_capacity(diff.len());
    for line in visible(diff).split_inclusive('\n') {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        let style = match text.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Some(style::STRONG),
            [b'+', ..] => Some(style::ADDITION),
            [b'-', ..] => Some(style::REMOVAL),
            [b'@', ..] => Some(style::CODE),
            _ => None,
        };
        match style {
            Some(style) => shown.push_str(&style::paint(color, style, text)),
            None => shown.push_str(text),
        }
        shown.push_str(end);
    }
    shown
}

//! Text that may be shown: what every writer needs, whatever it writes about.
//!
//! Documents are hostile input, and attack documents hold characters on purpose that a terminal would obey, hide or reorder.
//! Each is replaced by one that is one column wide, so that what is underlined stays underlined.

pub(crate) mod markup;
pub mod style;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use similar::TextDiff;
use sortie_syntax::shown::is_hidden;
use unicode_width::UnicodeWidthStr as _;

/// The text with every control, bidirectional and invisible character replaced; line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(|letter| stand_in(letter).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|letter| stand_in(letter).unwrap_or(letter)).collect())
}

/// What is shown in the place of a character that must not be shown as it is.
fn stand_in(letter: char) -> Option<char> {
    match letter {
        '\n' | '\t' => None,
        // The pictures of the control characters stand in the same order: ␀ ␁ … ␟.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)),
        '\u{7f}' => Some('␡'),
        hidden if is_hidden(hidden) => Some('\u{fffd}'),
        _ => None,
    }
}

/// Text on one line, with nothing in it that a terminal would obey.
pub fn line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}

/// A number with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A p-value: `p = 0.032`, `p < 0.0001`. One that is rounded up to a level is shown with more digits.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "p < 0.0001".to_owned(),
        p if p < 0.01 || (0.0495..0.0505).contains(&p) => format!("p = {p:.4}"),
        p => format!("p = {p:.3}"),
    }
}

/// The words of a text on lines of at most so many columns. A word that is longer has a line of its own.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

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

/// Writes JSON for people and machines: indented, and with escapes for whatever a terminal would obey.
pub fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write_escaped(out, &serde_json::to_string_pretty(value)?)?;
    out.write_all(b"\n")
}

/// Writes a text of JSON with escapes for whatever a terminal would obey or hide.
pub(crate) fn write_escaped(out: &mut dyn Write, json: &str) -> io::Result<()> {
    out.write_all(escape_hidden(json).as_bytes())
}

/// JSON with escapes for whatever a terminal would obey and a reader would not see. Line ends and tabs stay.
pub(crate) fn escape_hidden(json: &str) -> Cow<'_, str> {
    if json.chars().all(|letter| stand_in(letter).is_none()) {
        return Cow::Borrowed(json);
    }
    // JSON escapes C0 controls by itself. Whatever else is hidden stands in a string, where it may be escaped too.
    let mut escaped = String::with_capacity(json.len() + json.len() / 8);
    for letter in json.chars() {
        if stand_in(letter).is_none() {
            escaped.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}"); // writing to a string cannot fail
        }
    }
    Cow::Owned(escaped)
}

/// Pages as they read best in a terminal: headings stand out, code blocks are indented.
pub fn markdown(text: &str, color: bool) -> String {
    let mut shown = String::with_capacity(text.len() + text.len() / 8);
    let mut in_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            if !line.is_empty() {
                shown.push_str("    ");
                shown.push_str(&style::paint(color, style::CODE, line));
            }
        } else if let Some(heading) = line.strip_prefix("## ") {
            let style = match heading {
                "Wrong" => style::ERROR,
                "Right" => style::NOTE,
                _ => style::HEADING,
            };
            shown.push_str(&style::paint(color, style, heading));
        } else {
            shown.push_str(&inline(line, color));
        }
        shown.push('\n');
    }
    shown
}

/// Colours what stands between backticks.
fn inline(line: &str, color: bool) -> String {
    // A code span may go on in the next line; then nothing here is certain.
    if !color || line.matches('`').count() % 2 == 1 {
        return line.to_owned();
    }
    let mut shown = String::with_capacity(line.len());
    for (position, part) in line.split('`').enumerate() {
        // Every second part is code.
        if position % 2 == 1 {
            shown.push_str(&style::paint(color, style::CODE, part));
        } else {
            shown.push_str(part);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_never_sent() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\r"), "a␛[31mb␇␍");
        assert_eq!(
            visible("\u{9b}2J \u{202e}abc\u{2066} \u{e0041}"),
            "\u{fffd}2J \u{fffd}abc\u{fffd} \u{fffd}"
        );
    }

    #[test]
    fn nothing_in_the_table_is_written_as_it_is() {
        for (first, last) in sortie_syntax::shown::HIDDEN {
            for letter in (*first..=*last).filter(|letter| !matches!(letter, '\n' | '\t')) {
                assert!(!visible(&format!("a{letter}b")).contains(letter), "U+{:04X}", u32::from(letter));
            }
        }
    }

    #[test]
    fn text_stays_text() {
        let text = "tab\tand line\n, ümläut, 漢字, 🦀";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn lines_are_broken_between_words_and_words_are_not() {
        assert_eq!(wrap("a bb  ccc\ndddd", 6), ["a bb", "ccc", "dddd"]);
        assert_eq!(wrap("unbreakable as it is", 5), ["unbreakable", "as it", "is"]);
        assert_eq!(wrap("漢字 漢字", 5), ["漢字", "漢字"]);
        assert!(wrap(" \n", 5).is_empty());
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_reads_back_the_same() {
        let hostile = "a\u{1b}[31m \u{9b}2J \u{202e} \u{e0041} ü";
        let mut written = Vec::new();
        write_json(&mut written, &hostile).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written, "\"a\\u001b[31m \\u009b2J \\u202e \\udb40\\udc41 ü\"\n");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), hostile);
    }

    #[test]
    fn a_page_reads_well_without_colour() {
        let page = "Some `code`.\n\n## Wrong\n```yaml\na: 1\n\nb: 2\n```\n";
        assert_eq!(markdown(page, false), "Some `code`.\n\nWrong\n    a: 1\n\n    b: 2\n");
    }
}

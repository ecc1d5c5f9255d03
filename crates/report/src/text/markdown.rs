//! The little of Markdown that rule pages use, for a terminal.

use super::style;

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
    use super::markdown;

    #[test]
    fn a_page_reads_well_without_colour() {
        let page = "Some `code`.\n\n## Wrong\n```yaml\na: 1\n\nb: 2\n```\n";
        assert_eq!(markdown(page, false), "Some `code`.\n\nWrong\n    a: 1\n\n    b: 2\n");
    }
}

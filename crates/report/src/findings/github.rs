//! `--format github`: workflow commands, which GitHub Actions shows beside the lines of a pull request.

use std::io::{self, Write};

use super::{Checked, Reporter, message_and_help};
use crate::visible;

/// One line for each finding.
#[derive(Clone, Copy, Debug)]
pub struct GitHub;

impl Reporter for GitHub {
    fn file(&mut self, checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
        for finding in &checked.findings {
            write!(out, "::{} file={}", finding.severity, property(&checked.name))?;
            if let Some(span) = finding.span {
                let at = checked.source.line_column(span.start);
                write!(out, ",line={},col={}", at.line, at.column)?;
            }
            writeln!(out, ",title={}::{}", property(finding.code), data(&message_and_help(finding)))?;
        }
        Ok(())
    }
}

/// A message ends with its line, so line ends are escaped, and what escapes them.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    visible(&text).into_owned()
}

/// A property also ends at a comma, and the properties at a colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_document_can_start_a_command() {
        assert_eq!(data("100%\r\n::set-env name=x::y\u{1b}"), "100%25%0D%0A::set-env name=x::y␛");
        assert_eq!(property("a,b:c\n"), "a%2Cb%3Ac%0A");
    }
}

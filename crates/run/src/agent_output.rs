//! What the agent wrote, for whoever wants to know why a case failed.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sortie_detect::{Fault, Outcome};

/// So many of its last lines are shown.
const LINES: usize = 5;
/// So much of each, in letters.
const LETTERS: usize = 300;
/// So much of the end is read, in bytes.
const BYTES: u64 = 8 * 1024;

/// Adds to a failure the files to look at, and the last lines that the agent wrote. What went wrong with us is not to be found there.
///
/// Some agents say on standard error why they end, and some, like Claude Code, only on standard output.
pub(crate) fn add(outcome: &mut Outcome, folder: &Path) {
    let Some(failure) = outcome.failure.as_mut().filter(|failure| failure.fault != Fault::Harness) else {
        return;
    };
    for name in ["agent.stderr", "agent.stdout"] {
        let path = folder.join(name);
        if path.metadata().is_ok_and(|file| file.len() > 0) {
            failure.files.push(path.to_string_lossy().into_owned());
        }
    }
    // What cannot be read is named all the same.
    failure.stderr = last_lines(&folder.join("agent.stderr")).unwrap_or_default().into();
    if failure.fault == Fault::Agent {
        failure.stdout = last_lines(&folder.join("agent.stdout")).unwrap_or_default().into();
    }
}

fn last_lines(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<String> = text.lines().map(without_escapes).collect();
    if start > 0 && lines.len() > 1 {
        // The first is only a part of one.
        lines.remove(0);
    }
    lines.retain(|line| says_something(line));
    let last = &lines[lines.len().saturating_sub(LINES)..];
    Ok(last.iter().map(|line| shortened(line)).collect())
}

/// A line without the sequences that colour it on a terminal: `ESC [`, parameters, a letter.
fn without_escapes(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            text.push(letter);
        } else if letters.as_str().starts_with('[') {
            letters.next();
            letters.find(|letter| ('@'..='~').contains(letter));
        }
    }
    text
}

/// Whether a line is more than a brace or a frame of a JavaScript stack, of which dozens may follow the words that matter.
fn says_something(line: &str) -> bool {
    let line = line.trim();
    line.chars().any(char::is_alphanumeric) && !line.starts_with("at ")
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(LETTERS).collect();
    if short.len() < line.len() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_few_and_short_however_long_the_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.stderr");
        let said = |text: &str| {
            std::fs::write(&path, text).unwrap();
            last_lines(&path).unwrap()
        };
        assert_eq!(said("one\n\ntwo\n"), ["one", "two"]);
        assert_eq!(said(""), Vec::<String>::new());
        let many = (0..100_000).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        assert_eq!(
            said(&many),
            [99_995, 99_996, 99_997, 99_998, 99_999].map(|number| format!("line {number}"))
        );
        let long = said(&"é".repeat(100_000));
        assert_eq!((long.len(), long[0].chars().count()), (1, LETTERS));
    }

    #[test]
    fn lines_that_say_nothing_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.stderr");
        let frames = "    at async Turn.run (file:///bundle.js:333001:24)\n".repeat(20);
        let text = format!(
            "ApiError: 401 invalid key\n{frames}  status: 401\n}}\n\u{1b}[0m\n\u{1b}[91m\u{1b}[1mError: \u{1b}[0mfailed\n"
        );
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            last_lines(&path).unwrap(),
            ["ApiError: 401 invalid key", "  status: 401", "Error: failed"]
        );
        // Cut in the middle of a sequence.
        assert_eq!(without_escapes("red \u{1b}[3"), "red ");
    }
}

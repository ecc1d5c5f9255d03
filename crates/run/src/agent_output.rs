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

/// Adds to a failure the files to look at, and the last lines of the agent's standard error. What went wrong with us is not to be
/// found there.
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
    failure.stderr = last_lines(&folder.join("agent.stderr")).unwrap_or_default();
}

fn last_lines(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<&str> = text.lines().collect();
    if start > 0 && lines.len() > 1 {
        // The first is only a part of one.
        lines.remove(0);
    }
    lines.retain(|line| !line.trim().is_empty());
    let last = &lines[lines.len().saturating_sub(LINES)..];
    Ok(last.iter().map(|line| shortened(line)).collect())
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
}

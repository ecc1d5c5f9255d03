//! Many traces, made of the recordings of the repository.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// How a trace begins.
const HEADER: &str = r#"{"record":"header""#;

/// How much is written.
#[derive(Clone, Copy, Debug)]
pub struct CorpusSize {
    /// Messages at least.
    pub messages: u64,
    /// Bytes at most.
    pub bytes: u64,
    /// How long a file gets, in bytes.
    pub file: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    /// Files.
    pub files: u64,
    /// Sessions.
    pub sessions: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The traces of the repository, in order.
pub fn recordings(repository: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates/library", "docs/examples", "fixtures"] {
        find(&repository.join(folder), &mut files)?;
    }
    files.sort();
    let mut traces = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.starts_with(HEADER) {
            traces.push(text);
        }
    }
    if traces.is_empty() {
        return Err(io::Error::other("there are no traces in the repository"));
    }
    Ok(traces)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes files of sessions into a folder: the recordings again and again, in another order and on another day each time.
pub fn write(recordings: &[String], folder: &Path, size: CorpusSize) -> io::Result<Corpus> {
    fs::create_dir_all(folder)?;
    let mut corpus = Corpus::default();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut file: Option<(BufWriter<File>, u64)> = None;
    while corpus.messages < size.messages && corpus.bytes < size.bytes {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let recording = &recordings[usize::try_from(random % recordings.len() as u64).unwrap_or_default()];
        let day = corpus.sessions / 1000;
        if file.as_ref().is_none_or(|(_, length)| *length >= size.file) {
            if let Some((mut full, _)) = file.take() {
                full.flush()?;
            }
            let path = folder.join(format!("traces-{:04}.jsonl", corpus.files));
            file = Some((BufWriter::with_capacity(1 << 20, File::create(path)?), 0));
            corpus.files += 1;
        }
        let Some((out, length)) = &mut file else { continue };
        for line in recording.lines() {
            let line = on_day(line, day);
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
            *length += line.len() as u64 + 1;
            corpus.bytes += line.len() as u64 + 1;
            corpus.messages += u64::from(line.starts_with(r#"{"record":"message""#));
        }
        corpus.sessions += 1;
    }
    if let Some((mut last, _)) = file {
        last.flush()?;
    }
    Ok(corpus)
}

/// A record, so many days after the first of January. Its time is its third member, or its fifth.
fn on_day(line: &str, day: u64) -> String {
    const TIME: &str = r#""time":""#;
    let Some(at) = line.find(TIME).map(|at| at + TIME.len()).filter(|at| line.len() > at + 10) else {
        return line.to_owned();
    };
    let (month, day) = (day / 28 % 12 + 1, day % 28 + 1);
    format!("{}2026-{month:02}-{day:02}{}", &line[..at], &line[at + 10..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_whole_and_on_their_day() {
        let folder = tempfile::tempdir().unwrap();
        let recording = format!(
            "{HEADER},\"version\":1,\"time\":\"2025-05-05T10:00:00Z\"}}\n{{\"record\":\"message\",\"seq\":1,\"time\":\"2025-05-05T10:00:00Z\"}}\n"
        );
        let size = CorpusSize { messages: 1500, bytes: u64::MAX, file: 10_000 };
        let corpus = write(&[recording], folder.path(), size).unwrap();
        assert_eq!((corpus.sessions, corpus.messages), (1500, 1500));
        let mut all = String::new();
        for at in 0..corpus.files {
            all += &fs::read_to_string(folder.path().join(format!("traces-{at:04}.jsonl"))).unwrap();
        }
        assert_eq!(all.len() as u64, corpus.bytes);
        assert_eq!(all.matches("2026-01-01T10").count(), 2000);
        assert_eq!(all.matches("2026-01-02T10").count(), 1000);
    }
}

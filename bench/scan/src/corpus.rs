//! Recorded traffic: the proofs of the library, recordings of other programs, and runs of ThoughtJack where they are at hand.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use sortie_import::{Formats, Input, InputLimits, RecordingFile};
use sortie_scan::{Rules, Scanned, SessionScanner};
use sortie_trace::Record;

/// Sessions with and without findings, each as the lines of a trace.
pub(crate) struct Sessions {
    quiet: Vec<Vec<u8>>,
    loud: Vec<Vec<u8>>,
}

/// Sessions that are repeated until there are enough.
pub(crate) struct Corpus {
    sessions: Vec<Vec<u8>>,
}

/// One session in so many has findings where there are few.
const SELDOM: usize = 200;

pub(crate) fn sessions(rules: &Arc<Rules>, folder: &Path) -> Result<Sessions, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders =
        vec![root.join("crates/library/documents"), root.join("crates/import/tests/recordings")];
    match std::env::var_os("SORTIE_FIXTURES") {
        Some(fixtures) => {
            let archive = PathBuf::from(fixtures).join("traces/thoughtjack.tar.gz");
            let unpacked = folder.join("thoughtjack");
            std::fs::create_dir(&unpacked).map_err(|error| error.to_string())?;
            let tar = Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&unpacked).status();
            if !tar.is_ok_and(|ended| ended.success()) {
                return Err("the runs of ThoughtJack cannot be unpacked".to_owned());
            }
            folders.push(unpacked);
        }
        None => println!("SORTIE_FIXTURES is not set: without the runs of ThoughtJack"),
    }
    let files = RecordingFile::find(&folders).map_err(|error| error.to_string())?;
    let mut sessions = Sessions { quiet: Vec::new(), loud: Vec::new() };
    for file in &files {
        // What imports are compared with is a copy of what was imported.
        let Some(path) = file.path.as_ref().filter(|path| path.extension().is_none_or(|end| end != "golden"))
        else {
            continue;
        };
        let texts = texts(path, &file.name);
        for text in texts {
            let mut scanner = SessionScanner::new(Arc::clone(rules), &file.name);
            let mut rows = Vec::new();
            text.split(|byte| *byte == b'\n').for_each(|line| scanner.line(0, line, &mut rows));
            // Traces that are broken on purpose are not what is measured.
            if rows.iter().any(|row| matches!(row, Scanned::Error(_))) {
                continue;
            }
            let is_loud = rows.iter().any(|row| matches!(row, Scanned::Finding(_)));
            if is_loud { &mut sessions.loud } else { &mut sessions.quiet }.push(text);
        }
    }
    let size = |texts: &[Vec<u8>]| texts.iter().map(Vec::len).sum::<usize>() / 1000;
    let (quiet, loud) = (&sessions.quiet, &sessions.loud);
    println!(
        "{} sessions without findings ({} kB), {} with ({} kB)",
        quiet.len(),
        size(quiet),
        loud.len(),
        size(loud)
    );
    if quiet.is_empty() || loud.is_empty() {
        return Err("there is no traffic of both kinds".to_owned());
    }
    Ok(sessions)
}

/// The sessions of a file as lines of a trace.
fn texts(path: &Path, name: &str) -> Vec<Vec<u8>> {
    let limits = InputLimits::default();
    let Ok(mut input) = Input::file(path, name, limits) else { return Vec::new() };
    let Ok(head) = input.head() else { return Vec::new() };
    if head.starts_with(br#"{"record":"header""#) {
        return input.whole().map(|text| vec![text.trim_ascii_end().to_vec()]).unwrap_or_default();
    }
    let Some(format) = Formats::recognize(&input.as_head(&head)) else { return Vec::new() };
    let mut texts = Vec::new();
    // A recording that is broken on purpose ends where it is broken.
    let _ = format.read(input, &mut |session| {
        let header = Record::Header(Box::new(session.header("bench")));
        let mut text = serde_json::to_vec(&header).unwrap_or_default();
        for record in session.into_records() {
            text.push(b'\n');
            let line = serde_json::to_string(&record).unwrap_or_default();
            text.extend(line.replace(['\n', '\r'], " ").into_bytes());
        }
        texts.push(text);
        Ok(())
    });
    texts
}

impl Sessions {
    /// Nothing is found.
    pub(crate) fn none(&self) -> Corpus {
        Corpus { sessions: self.quiet.clone() }
    }

    /// Nearly nothing is found.
    pub(crate) fn few(&self) -> Corpus {
        let loud = self.loud.iter().cycle();
        let mut sessions = Vec::new();
        for (chunk, loud) in self.quiet.chunks(SELDOM).zip(loud) {
            sessions.extend_from_slice(chunk);
            if chunk.len() == SELDOM {
                sessions.push(loud.clone());
            }
        }
        Corpus { sessions }
    }

    /// Something is found in every session.
    pub(crate) fn many(&self) -> Corpus {
        Corpus { sessions: self.loud.clone() }
    }
}

impl Corpus {
    /// How many bytes all sessions have together.
    pub(crate) fn size(&self) -> usize {
        self.sessions.iter().map(|session| session.len() + 1).sum()
    }

    /// Writes sessions until there are so many bytes, and says how many there are.
    pub(crate) fn write(&self, path: &Path, bytes: usize) -> io::Result<usize> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut written = 0;
        while written < bytes {
            for session in &self.sessions {
                file.write_all(session)?;
                file.write_all(b"\n")?;
                written += session.len() + 1;
            }
        }
        file.flush()?;
        Ok(written)
    }

    /// Lines until there are so many bytes.
    pub(crate) fn lines(&self, bytes: usize) -> Vec<&[u8]> {
        let (mut lines, mut size) = (Vec::new(), 0);
        for line in self.sessions.iter().cycle().flat_map(|session| session.split(|byte| *byte == b'\n')) {
            lines.push(line);
            size += line.len() + 1;
            if size >= bytes {
                break;
            }
        }
        lines
    }
}

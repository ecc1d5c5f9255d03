//! Parts of files that are scanned by one thread each.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use memchr::memchr;
use sortie_import::RecordingFile;

use crate::session::MAX_LINE_BYTES;

/// How long a part is, in bytes.
pub(crate) const PART_BYTES: u64 = 16 * 1024 * 1024;

/// How a trace of ours begins.
pub(crate) const TRACE_START: &[u8] = br#"{"record":"header""#;

/// A file, or those sessions of a trace whose first line begins in a range of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart {
    /// The position of the file.
    pub file: usize,
    /// The range; `None` for the whole of a file that cannot be read from the middle.
    pub range: Option<Range<u64>>,
}

/// The parts of files, in order. Traces that are not compressed are cut into ranges of so many bytes: a session is in one part, however
/// long it is.
pub fn parts_of(files: &[RecordingFile], part_bytes: u64) -> Vec<FilePart> {
    let mut parts = Vec::new();
    let part_bytes = part_bytes.max(1);
    for (file, about) in files.iter().enumerate() {
        match about.path.as_deref().and_then(plain_trace) {
            Some(length) => {
                let starts = (0..length.max(1)).step_by(usize::try_from(part_bytes).unwrap_or(usize::MAX));
                let range = |start: u64| Some(start..start.saturating_add(part_bytes).min(length));
                parts.extend(starts.map(|start| FilePart { file, range: range(start) }));
            }
            None => parts.push(FilePart { file, range: None }),
        }
    }
    parts
}

/// The length of a trace of ours that is not compressed.
fn plain_trace(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let about = file.metadata().ok()?;
    let mut start = vec![0; TRACE_START.len()];
    file.read_exact(&mut start).ok()?;
    (about.is_file() && start == TRACE_START).then_some(about.len())
}

/// The lines of a file, with the position of each.
pub(crate) struct Lines<R> {
    reader: R,
    /// How many bytes of what the reader holds were told already.
    told: usize,
    /// A line that the reader does not hold as a whole.
    line: Vec<u8>,
    /// Where the line that was read last begins.
    start: u64,
    /// Where the next begins.
    next: u64,
}

/// How much memory is kept from one line to the next, in bytes.
const KEPT: usize = 1024 * 1024;

impl Lines<BufReader<File>> {
    /// The lines that begin in a file from a position on.
    pub(crate) fn open(path: &Path, from: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        // A line begins at a position if the byte before it ends one.
        let seek = from.saturating_sub(1);
        file.seek(SeekFrom::Start(seek))?;
        let mut lines = Self::at(BufReader::with_capacity(512 * 1024, file), seek);
        if from > 0 {
            lines.skip_line()?;
        }
        Ok(lines)
    }
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::at(reader, 0)
    }

    fn at(reader: R, start: u64) -> Self {
        Self { reader, told: 0, line: Vec::new(), start, next: start }
    }

    /// The next line, where it begins, and whether it is whole: the rest of one that is too long is passed over.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(u64, &[u8], bool)>> {
        self.reader.consume(std::mem::take(&mut self.told));
        self.start = self.next;
        if let Some(length) = self.held_line()? {
            (self.told, self.next) = (length, self.next + length as u64);
            // The reader holds it already: nothing is read here.
            return Ok(Some((self.start, &self.reader.fill_buf()?[..length], true)));
        }
        self.line.clear();
        self.line.shrink_to(KEPT);
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.next += read as u64;
        let is_whole = self.line.last() == Some(&b'\n') || read <= MAX_LINE_BYTES;
        if !is_whole {
            self.skip_line()?;
        }
        Ok(Some((self.start, &self.line, is_whole)))
    }

    /// The length of the next line, where the reader holds all of it.
    fn held_line(&mut self) -> io::Result<Option<usize>> {
        loop {
            match self.reader.fill_buf() {
                Ok(held) => {
                    return Ok(memchr(b'\n', held)
                        .map(|end| end + 1)
                        .filter(|length| *length <= MAX_LINE_BYTES));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        self.next += self.reader.skip_until(b'\n')? as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_much_the_reader_holds() {
        let text = b"one\n\nthe third line is longer\nfour\r\nlast";
        for capacity in 1..=text.len() + 1 {
            let mut lines = Lines::new(BufReader::with_capacity(capacity, &text[..]));
            let (mut read, mut at) = (Vec::new(), Vec::new());
            while let Some((start, line, is_whole)) = lines.next_line().unwrap() {
                assert!(is_whole);
                read.extend_from_slice(line);
                at.push(start);
            }
            assert_eq!((&read[..], &at[..]), (&text[..], &[0, 4, 5, 30, 36][..]), "{capacity}");
        }
    }
}

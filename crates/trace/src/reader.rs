//! Reads a trace, line by line, or says why it cannot be read.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;

use crate::line::LineError;
use crate::record::{Header, Record, VERSION};

/// The longest line that is read unless something else is asked for, in bytes.
///
/// Well above the largest message that a run accepts, with room for what base64 and escapes add.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// How much memory is kept from one line to the next, in bytes.
const KEPT: usize = 256 * 1024;

/// A trace that is read.
///
/// ```
/// use sortie_trace::{Record, Trace};
///
/// let text = r#"{"record":"header","version":1,"origin":"run","written_by":"me","time":"2026-11-15T21:50:07.000000Z"}
/// {"record":"stopped","seq":1,"time":"2026-11-15T21:50:08.000000Z","because":"idle"}
/// {"record":"stop"#;
/// let (header, mut records) = Trace::open(text.as_bytes()).unwrap();
/// assert_eq!(header.written_by, "me");
/// assert!(matches!(records.next(), Some(Ok(Record::Stopped(stopped))) if stopped.because.as_str() == "idle"));
/// assert!(records.next().is_none());
/// assert!(records.was_cut());
/// ```
#[derive(Debug)]
pub struct Trace;

impl Trace {
    /// Reads the header. The records follow as they are asked for, and no more than one is held at a time.
    pub fn open<R: BufRead>(input: R) -> Result<(Header, Records<R>), TraceError> {
        Self::open_with(input, MAX_LINE_BYTES)
    }

    /// The same with another limit on the length of a line.
    pub fn open_with<R: BufRead>(
        input: R,
        max_line_bytes: usize,
    ) -> Result<(Header, Records<R>), TraceError> {
        let mut records = Records {
            input,
            line: Vec::new(),
            number: 0,
            max_line_bytes,
            last_seq: 0,
            cut: false,
            ended: false,
        };
        let complete = records.next_line()?.ok_or(TraceError::Empty)?;
        let header = header(&records.line, complete)?;
        records.cut = !complete;
        Ok((header, records))
    }
}

/// The version decides how the rest is read, so it is looked at before the rest.
fn header(line: &[u8], complete: bool) -> Result<Header, TraceError> {
    #[derive(Deserialize)]
    struct Version {
        #[serde(default)]
        record: Option<String>,
        #[serde(default)]
        version: Option<u64>,
    }
    let not_a_trace = |reason: &str| TraceError::NotATrace(reason.to_owned());
    let of_json = |error: serde_json::Error| {
        if error.is_eof() && !complete {
            TraceError::CutHeader
        } else {
            not_a_trace(&without_place(&error).0)
        }
    };
    let line = std::str::from_utf8(line).map_err(|_| not_a_trace("the first line is not UTF-8"))?;
    let Version { record, version } = serde_json::from_str(line).map_err(of_json)?;
    match record.as_deref() {
        Some("header") => {}
        Some(_) => return Err(not_a_trace("the first line is a record, but not the header")),
        None => return Err(not_a_trace("the first line has no `record`")),
    }
    match version {
        None | Some(0) => Err(not_a_trace("the header has no version")),
        Some(found) if found > u64::from(VERSION) => Err(TraceError::LaterVersion(found)),
        Some(_) => serde_json::from_str(line).map_err(of_json),
    }
}

/// The records of a trace, in order. After an error there are no more.
#[derive(Debug)]
pub struct Records<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    max_line_bytes: usize,
    last_seq: u64,
    cut: bool,
    ended: bool,
}

impl<R: BufRead> Records<R> {
    /// Whether the trace stops in the middle of a line, as one does when whoever wrote it was killed. Known once all
    /// records were read; a record of which nothing but the line break is missing is among them.
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    /// The line that was read last, from one; the header is the first.
    pub fn line(&self) -> u64 {
        self.number
    }

    /// Reads the next line that is not blank. Says whether it is complete; `None` at the end.
    fn next_line(&mut self) -> Result<Option<bool>, TraceError> {
        loop {
            self.line.clear();
            self.line.shrink_to(KEPT);
            let limit = self.max_line_bytes as u64 + 1;
            let read = self.input.by_ref().take(limit).read_until(b'\n', &mut self.line);
            let read = read.map_err(|source| TraceError::Io { line: self.number + 1, source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let complete = self.line.last() == Some(&b'\n');
            if complete {
                self.line.pop();
            }
            if self.line.len() > self.max_line_bytes {
                return Err(TraceError::TooLong { line: self.number, limit: self.max_line_bytes });
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(complete));
            }
        }
    }

    fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        let Some(complete) = self.next_line()? else { return Ok(None) };
        self.cut = !complete;
        let line = self.number;
        let text = match std::str::from_utf8(&self.line) {
            Ok(text) => text,
            Err(_) if !complete => return Ok(None),
            Err(error) => {
                let column = error.valid_up_to() + 1;
                return Err(TraceError::Invalid { line, column, reason: "this is not UTF-8".into() });
            }
        };
        let record = match Record::from_line(text) {
            Ok(Record::Header(_)) => return Err(TraceError::SecondHeader(line)),
            Ok(record) => record,
            // Part of a record is never JSON. So this one is cut, and not wrong.
            Err(LineError::Json(error)) if !complete && !error.is_data() => return Ok(None),
            Err(error) => return Err(TraceError::of_line(line, error)),
        };
        let (seq, after) = (record.seq(), self.last_seq);
        if seq <= after {
            return Err(TraceError::OutOfOrder { line, seq, after });
        }
        self.last_seq = seq;
        Ok(Some(record))
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

impl<R: BufRead> std::iter::FusedIterator for Records<R> {}

/// Why a trace cannot be read, or not further. Lines and columns count from one, columns in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The source failed.
    #[error("line {line} cannot be read: {source}")]
    Io {
        /// The line that was being read.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the trace is empty")]
    Empty,
    /// The header is the last line, and cut.
    #[error("the trace ends within its header")]
    CutHeader,
    /// The first line is not a header.
    #[error("this is not a trace: {0}")]
    NotATrace(String),
    /// It was written by a later version, which the header names.
    #[error("the trace has version {0}; this program reads version {VERSION}")]
    LaterVersion(u64),
    /// A line is too long.
    #[error("line {line} is longer than {limit} bytes, which are the limit")]
    TooLong {
        /// The line.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// A line is not a record.
    #[error("line {line}, column {column}: {reason}")]
    Invalid {
        /// The line.
        line: u64,
        /// The column; zero where it is the record as a whole.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A line is a record that this version of the format does not have.
    #[error("line {line}: there is no record `{record}` in version {VERSION}")]
    UnknownRecord {
        /// The line.
        line: u64,
        /// Its kind.
        record: String,
    },
    /// This line is a header, and not the first.
    #[error("line {0}: a second header; these are two traces in one file")]
    SecondHeader(u64),
    /// The records are not in order.
    #[error("line {line}: record {seq} stands behind record {after}")]
    OutOfOrder {
        /// The line.
        line: u64,
        /// Its sequence number.
        seq: u64,
        /// The one before it.
        after: u64,
    },
}

impl TraceError {
    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Empty | Self::CutHeader => {
                Some("the run was ended before anything happened; there is nothing to read")
            }
            Self::NotATrace(_) => {
                Some("a trace is JSON Lines, and its first line is `{\"record\":\"header\",…}`")
            }
            Self::LaterVersion(_) => {
                Some("read it with the program that `written_by` in its first line names")
            }
            Self::UnknownRecord { .. } => Some("it may have been written by a later program; try that one"),
            Self::OutOfOrder { .. } => {
                Some("`seq` must increase from line to line; was the file sorted or joined?")
            }
            _ => None,
        }
    }

    /// A line of a trace that is not a record.
    fn of_line(line: u64, error: LineError) -> Self {
        match error {
            LineError::UnknownRecord(record) => Self::UnknownRecord { line, record },
            LineError::Json(error) => {
                let (reason, column) = without_place(&error);
                Self::Invalid { line, column, reason }
            }
        }
    }
}

/// What `serde_json` says, without a place in it, since each line is line one to it.
fn without_place(error: &serde_json::Error) -> (String, usize) {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let words = error.to_string();
    (words.strip_suffix(&place).unwrap_or(&words).to_owned(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"record":"header","version":1,"origin":"foreign","written_by":"x","time":"t"}"#;

    fn stopped(seq: u64) -> String {
        format!(r#"{{"record":"stopped","seq":{seq},"time":"t","because":"idle"}}"#)
    }

    /// The sequence numbers that are read, whether the trace was cut, and the error that ended it.
    fn read(text: &[u8]) -> (Vec<u64>, bool, Option<String>) {
        let (_, mut records) = match Trace::open_with(text, 200) {
            Ok(opened) => opened,
            Err(error) => return (Vec::new(), false, Some(error.to_string())),
        };
        let (mut seqs, mut failure) = (Vec::new(), None);
        for record in &mut records {
            match record {
                Ok(record) => seqs.push(record.seq()),
                Err(error) => failure = Some(error.to_string()),
            }
        }
        (seqs, records.was_cut(), failure)
    }

    #[test]
    fn a_trace_cut_at_any_byte_loses_its_last_line_at_most() {
        let text = format!("{HEADER}\n{}\n{}\n", stopped(1), stopped(2).replace("idle", "Ärger 🦀"));
        let first = HEADER.len() + 1;
        let second = first + stopped(1).len() + 1;
        for end in HEADER.len()..=text.len() {
            let (seqs, cut, failure) = read(&text.as_bytes()[..end]);
            assert_eq!(failure, None, "cut at {end}");
            let whole = text.as_bytes()[..end].split(|byte| *byte == b'\n').count() - 1;
            // A line that lacks nothing but its line break is a record.
            let lacks_a_break = [first - 1, second - 1, text.len() - 1].contains(&end);
            assert_eq!(seqs.len(), whole + usize::from(lacks_a_break) - 1, "cut at {end}");
            assert_eq!(cut, ![first, second, text.len()].contains(&end), "cut at {end}");
        }
        for end in 1..HEADER.len() {
            assert_eq!(read(&text.as_bytes()[..end]).2.unwrap(), "the trace ends within its header");
        }
        assert_eq!(read(b"").2.unwrap(), "the trace is empty");
    }

    #[test]
    fn a_damaged_line_that_is_not_the_last_is_named() {
        let text = format!("{HEADER}\n{}\n{{\"record\":\n{}\n", stopped(1), stopped(2));
        let (seqs, _, failure) = read(text.as_bytes());
        assert_eq!(seqs, [1]);
        assert_eq!(failure.unwrap(), "line 3, column 10: EOF while parsing a value");
        // With a line break behind it, the last line was written so.
        let text = format!("{HEADER}\n{}\n{{\"record\":\n", stopped(1));
        assert!(read(text.as_bytes()).2.is_some());
        let mut text = format!("{HEADER}\n{}\n", stopped(1)).into_bytes();
        text[HEADER.len() + 5] = 0xff;
        assert_eq!(read(&text).2.unwrap(), "line 2, column 5: this is not UTF-8");
    }

    #[test]
    fn zeros_that_a_crashed_disk_left_at_the_end_are_a_cut_line() {
        let mut text = format!("{HEADER}\n{}\n", stopped(1)).into_bytes();
        text.extend([0; 50]);
        assert_eq!(read(&text), (vec![1], true, None));
    }

    #[test]
    fn the_first_line_is_the_header_of_a_version_we_know() {
        for (line, reason) in [
            ("oatf: \"0.1\"", "this is not a trace: expected value"),
            ("{\"a\":1}", "this is not a trace: the first line has no `record`"),
            (&stopped(1), "this is not a trace: the first line is a record, but not the header"),
            (r#"{"record":"header"}"#, "this is not a trace: the header has no version"),
            (
                r#"{"record":"header","version":2,"new":{}}"#,
                "the trace has version 2; this program reads version 1",
            ),
            (r#"{"record":"header","version":1}"#, "this is not a trace: missing field `origin`"),
            ("\u{1f}\u{8b}", "this is not a trace: expected value"),
        ] {
            assert_eq!(read(format!("{line}\n").as_bytes()).2.unwrap(), reason);
        }
        assert_eq!(read(b"\xff\n").2.unwrap(), "this is not a trace: the first line is not UTF-8");
    }

    #[test]
    fn records_are_in_order_of_known_kinds_and_of_one_trace() {
        let read = |lines: &[&str]| read(format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes()).2;
        assert_eq!(read(&[&stopped(3), "", " \r", &stopped(9)]), None);
        assert_eq!(read(&[&stopped(0)]).unwrap(), "line 2: record 0 stands behind record 0");
        assert_eq!(read(&[&stopped(2), &stopped(2)]).unwrap(), "line 3: record 2 stands behind record 2");
        assert_eq!(read(&["", &stopped(2), &stopped(1)]).unwrap(), "line 4: record 1 stands behind record 2");
        assert_eq!(read(&[HEADER]).unwrap(), "line 2: a second header; these are two traces in one file");
        let unknown = r#"{"record":"mood","seq":1}"#;
        assert_eq!(read(&[unknown]).unwrap(), "line 2: there is no record `mood` in version 1");
    }

    #[test]
    fn an_endless_line_is_refused_without_reading_it() {
        let endless = io::BufReader::new(HEADER.as_bytes().chain(&b"\n"[..]).chain(io::repeat(b'x')));
        let (_, mut records) = Trace::open_with(endless, 1000).unwrap();
        let error = records.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "line 2 is longer than 1000 bytes, which are the limit");
        assert!(records.next().is_none());
        assert!(records.line.capacity() < 10_000);
        let exact = format!("{HEADER}\n{}\n", stopped(1));
        assert!(Trace::open_with(exact.as_bytes(), HEADER.len()).unwrap().1.all(|record| record.is_ok()));
        assert!(Trace::open_with(exact.as_bytes(), HEADER.len() - 1).is_err());
    }
}

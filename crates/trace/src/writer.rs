//! Writes a trace, record by record.

use std::io::{self, Write};
use std::time::SystemTime;

use crate::reader::MAX_LINE_BYTES;
use crate::record::{Header, Record};
use crate::redact::Redactor;
use crate::time::format_time;

/// How large a trace may become unless something else is asked for, in bytes.
pub const MAX_TRACE_BYTES: u64 = 1024 * 1024 * 1024;

/// What is kept back for records that are no messages, so that a trace that is full can still say how the run ended.
const RESERVE: u64 = 64 * 1024;

/// How much memory is kept from one line to the next, in bytes.
const KEPT: usize = 256 * 1024;

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The trace has reached its limit. Messages are refused from now on, so that nothing is missing in the middle; other
    /// records still find room.
    #[error("the trace is full: {0} bytes are the limit")]
    Full(u64),
    /// The record is longer than any reader reads. The trace goes on without it.
    #[error("a record of {0} bytes is too long for a trace: {MAX_LINE_BYTES} are the limit")]
    TooLong(usize),
    /// A header was given as a record. It is written when the trace is begun.
    #[error("a trace has one header, and it is its first line")]
    SecondHeader,
    /// The destination failed. Part of a line may have been written, so nothing is written after it: a reader takes it
    /// for a cut last line.
    #[error("the trace cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The destination failed before.
    #[error("the trace could not be written before, and ends there")]
    Broken,
}

/// Writes a trace. It only grows: a record is one call of `write_all` and a flush, so that a kill at any moment loses
/// the last line at most, and the destination need not be buffered.
///
/// What is written is redacted first. [`append`](Self::append) leaves the record as it was written, which is the one to
/// evaluate: a live run and its trace give the same verdict.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use sortie_trace::{Header, Record, Redactor, StopReason, Stopped, Writer};
///
/// let start = UNIX_EPOCH + Duration::from_secs(1_795_000_000);
/// let mut writer = Writer::begin(Vec::new(), Header::run("sortie 0.1.0", start), Redactor::default()).unwrap();
/// let mut end = Record::Stopped(Stopped { seq: 0, time: String::new(), because: StopReason::Idle, message: None });
/// assert_eq!(writer.append(start + Duration::from_millis(1500), &mut end).unwrap(), 1);
/// assert_eq!(end.time(), "2026-11-18T11:06:41.500000Z");
///
/// let lines = String::from_utf8(writer.into_inner()).unwrap();
/// assert!(lines.ends_with("{\"record\":\"stopped\",\"seq\":1,\"time\":\"2026-11-18T11:06:41.500000Z\",\"because\":\"idle\"}\n"));
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    redactor: Redactor,
    line: Vec<u8>,
    last_seq: u64,
    written: u64,
    limit: u64,
    full: bool,
    broken: bool,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn begin(out: W, header: Header, redactor: Redactor) -> Result<Self, WriteError> {
        Self::begin_with(out, header, redactor, MAX_TRACE_BYTES)
    }

    /// The same with another limit on the size of the trace, in bytes.
    pub fn begin_with(
        out: W,
        mut header: Header,
        redactor: Redactor,
        limit: u64,
    ) -> Result<Self, WriteError> {
        let mut writer = Self {
            out,
            redactor,
            line: Vec::new(),
            last_seq: 0,
            written: 0,
            limit,
            full: false,
            broken: false,
        };
        writer.redactor.redact_header(&mut header);
        writer.write(&Record::Header(Box::new(header)))?;
        Ok(writer)
    }

    /// Redacts a record, gives it its sequence number and its time, and writes it. Returns the number.
    ///
    /// A number is used up only by a record that was written.
    pub fn append(&mut self, time: SystemTime, record: &mut Record) -> Result<u64, WriteError> {
        if matches!(record, Record::Header(_)) {
            return Err(WriteError::SecondHeader);
        }
        if self.broken {
            return Err(WriteError::Broken);
        }
        self.redactor.redact(record);
        record.place(self.last_seq + 1, format_time(time));
        self.write(record)?;
        self.last_seq += 1;
        Ok(self.last_seq)
    }

    /// The rules by which it redacts, for what is kept beside the trace.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Where it was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write(&mut self, record: &Record) -> Result<(), WriteError> {
        self.line.clear();
        // One large message must not hold on to its memory for the rest of the run.
        self.line.shrink_to(KEPT);
        record.write_line(&mut self.line).map_err(io::Error::from)?;
        if self.line.len() > MAX_LINE_BYTES {
            return Err(WriteError::TooLong(self.line.len()));
        }
        self.line.push(b'\n');
        let message = matches!(record, Record::Message(_));
        let room = if message { self.limit } else { self.limit.saturating_add(RESERVE) };
        let length = self.line.len() as u64;
        if (message && self.full) || self.written.saturating_add(length) > room {
            self.full = true;
            return Err(WriteError::Full(self.limit));
        }
        // Only this breaks it: what was refused so far left nothing behind.
        if let Err(error) = self.out.write_all(&self.line).and_then(|()| self.out.flush()) {
            self.broken = true;
            return Err(WriteError::Io(error));
        }
        self.written += length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::record::tests;
    use crate::{Content, StopReason, Stopped, Trace};

    fn message(content: &str) -> Record {
        Record::Message(Box::new(tests::message(content)))
    }

    fn stopped() -> Record {
        Record::Stopped(Stopped { seq: 0, time: String::new(), because: StopReason::Idle, message: None })
    }

    fn header() -> Header {
        Header::run("test", UNIX_EPOCH)
    }

    fn read(bytes: &[u8]) -> (Vec<Record>, bool) {
        let (_, mut records) = Trace::open(bytes).unwrap();
        (records.by_ref().map(Result::unwrap).collect(), records.was_cut())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut writer = Writer::begin(Vec::new(), header(), Redactor::default()).unwrap();
        let mut sent = message(r#"{"a":  1.00}"#);
        assert_eq!(writer.append(UNIX_EPOCH, &mut sent).unwrap(), 1);
        assert_eq!(writer.append(UNIX_EPOCH, &mut stopped()).unwrap(), 2);
        assert_eq!(writer.written, writer.out.len() as u64);
        let (records, cut) = read(&writer.into_inner());
        assert!(!cut);
        let Record::Message(first) = &records[0] else { panic!("{records:?}") };
        assert_eq!((first.seq, first.time.as_str()), (1, "1970-01-01T00:00:00.000000Z"));
        assert!(matches!(&first.content, Content::Json(json) if json.get() == r#"{"a":  1.00}"#));
        assert_eq!(records[1].seq(), 2);
    }

    #[test]
    fn a_full_trace_has_no_gaps_and_still_says_how_it_ended() {
        let mut writer = Writer::begin_with(Vec::new(), header(), Redactor::default(), 1_000).unwrap();
        while writer.append(UNIX_EPOCH, &mut message(r#""some text""#)).is_ok() {}
        assert!(writer.full && writer.written <= 1_000);
        // A smaller one would fit, and would make believe that nothing was said in between.
        let error = writer.append(UNIX_EPOCH, &mut message("0")).unwrap_err();
        assert_eq!(error.to_string(), "the trace is full: 1000 bytes are the limit");
        let last = writer.append(UNIX_EPOCH, &mut stopped()).unwrap();
        let (records, _) = read(&writer.out);
        assert_eq!(records.iter().map(Record::seq).collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
        // That has an end too.
        while writer.append(UNIX_EPOCH, &mut stopped()).is_ok() {}
        assert!(writer.written <= 1_000 + RESERVE);
    }

    #[test]
    fn there_is_one_header() {
        let mut writer = Writer::begin(Vec::new(), header(), Redactor::default()).unwrap();
        let error = writer.append(UNIX_EPOCH, &mut Record::Header(Box::new(header()))).unwrap_err();
        assert!(matches!(error, WriteError::SecondHeader));
    }

    /// Takes so many bytes, then fails once, then would take more.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        writes: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if self.room == 0 {
                self.room = usize::MAX;
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            self.bytes.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_is_written_behind_half_a_line() {
        let disk = Disk { bytes: Vec::new(), room: 300, writes: 0 };
        let mut writer = Writer::begin(disk, header(), Redactor::default()).unwrap();
        let mut written = 0;
        let error = loop {
            match writer.append(UNIX_EPOCH, &mut stopped()) {
                Ok(_) => written += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, WriteError::Io(_)), "{error}");
        assert!(matches!(writer.append(UNIX_EPOCH, &mut stopped()), Err(WriteError::Broken)));
        let (records, cut) = read(&writer.into_inner().bytes);
        assert_eq!((records.len(), cut), (written, true));
    }

    #[test]
    fn a_record_is_one_write() {
        let disk = Disk { bytes: Vec::new(), room: usize::MAX, writes: 0 };
        let mut writer = Writer::begin(disk, header(), Redactor::default()).unwrap();
        writer.append(UNIX_EPOCH, &mut message("{}")).unwrap();
        assert_eq!(writer.into_inner().writes, 2);
    }

    #[test]
    fn a_record_that_no_reader_would_take_is_refused_and_the_trace_goes_on() {
        let mut writer = Writer::begin(io::sink(), header(), Redactor::default()).unwrap();
        let mut huge = message(&format!("\"{}\"", "x".repeat(MAX_LINE_BYTES)));
        assert!(matches!(writer.append(UNIX_EPOCH, &mut huge), Err(WriteError::TooLong { .. })));
        assert_eq!(writer.append(UNIX_EPOCH, &mut stopped()).unwrap(), 1);
    }
}

//! Files and folders of recordings, scanned by many threads.

use std::collections::HashSet;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sortie_import::{
    DeclaredServer, Format, Formats, ImportError, Input, InputLimits, PendingSession, RecordingFile,
};
use sortie_trace::time::parse_time;

use crate::delivery::Delivery;
use crate::finding::{FindingRow, RowError, Scanned};
use crate::part::{FilePart, Lines, PART_BYTES, TRACE_START, parts_of};
use crate::rules::Rules;
use crate::session::SessionScanner;

/// How many rows are handed on at once.
const BATCH: usize = 512;
/// After how many bytes progress is told.
const TOLD: u64 = 256 * 1024;

/// Which findings are wanted by their time.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSpan {
    /// The first moment.
    pub since: Option<SystemTime>,
    /// The first moment after it.
    pub until: Option<SystemTime>,
}

impl TimeSpan {
    /// Whether a time is in it. A time that cannot be read is in every span: what cannot be placed is not left out.
    pub fn contains(&self, time: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let Some(time) = parse_time(time) else { return true };
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }
}

/// How far a scan is, and whether it is to stop.
#[derive(Debug, Default)]
pub struct ScanProgress {
    bytes: AtomicU64,
    findings: AtomicU64,
    is_stopped: AtomicBool,
}

impl ScanProgress {
    /// Bytes that were read, of files that are not compressed or imported; the others count when they are done.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Findings so far.
    pub fn findings(&self) -> u64 {
        self.findings.load(Ordering::Relaxed)
    }

    /// Stops the scan soon. What was found until then is kept.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// What a scan came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanSummary {
    /// Files that were read.
    pub files: u64,
    /// Sessions.
    pub sessions: u64,
    /// Messages.
    pub messages: u64,
    /// Findings.
    pub findings: u64,
    /// What could not be scanned.
    pub errors: u64,
    /// Files in folders that are not recordings, and why.
    pub passed_over: Vec<(String, String)>,
    /// Whether it was stopped before the end.
    pub interrupted: bool,
}

impl ScanSummary {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.findings += other.findings;
        self.errors += other.errors;
        self.passed_over.extend(other.passed_over);
    }
}

/// Why a scan cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// A file that was named cannot be read, or is no recording.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Recordings, to be scanned with rules.
#[derive(Clone, Debug)]
pub struct Scan {
    rules: Arc<Rules>,
    files: Vec<RecordingFile>,
    format: Option<&'static Format>,
    servers: Vec<DeclaredServer>,
    span: TimeSpan,
    sessions: Vec<String>,
    part_bytes: u64,
}

impl Scan {
    /// Scans these files. The format of each is recognized.
    pub fn new(rules: Arc<Rules>, files: Vec<RecordingFile>) -> Self {
        let (span, part_bytes) = (TimeSpan::default(), PART_BYTES);
        Self { rules, files, format: None, servers: Vec::new(), span, sessions: Vec::new(), part_bytes }
    }

    /// Cuts traces into parts of so many bytes. What is found does not depend on it.
    #[must_use]
    pub fn with_part_bytes(mut self, part_bytes: u64) -> Self {
        self.part_bytes = part_bytes;
        self
    }

    /// Reads all files in this format.
    #[must_use]
    pub fn with_format(mut self, format: &'static Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Names the agent's MCP servers, for formats that do not say whose a tool is.
    #[must_use]
    pub fn with_servers(mut self, servers: Vec<DeclaredServer>) -> Self {
        self.servers = servers;
        self
    }

    /// Leaves out findings at other times.
    #[must_use]
    pub fn within(mut self, span: TimeSpan) -> Self {
        self.span = span;
        self
    }

    /// Leaves out findings in other sessions than these, where there are any.
    #[must_use]
    pub fn of_sessions(mut self, sessions: Vec<String>) -> Self {
        self.sessions = sessions;
        self
    }

    /// How many bytes the files have.
    pub fn bytes(&self) -> u64 {
        let length =
            |file: &RecordingFile| std::fs::metadata(file.path.as_ref()?).ok().map(|about| about.len());
        self.files.iter().filter_map(length).sum()
    }

    /// The parts that can be scanned at the same time, in order.
    pub fn parts(&self) -> Vec<FilePart> {
        parts_of(&self.files, self.part_bytes)
    }

    /// Scans everything with so many threads. `sink` gets findings and errors in the order of files and sessions, whatever the number of
    /// threads, and says whether it takes more.
    pub fn run(
        &self,
        workers: usize,
        progress: &ScanProgress,
        sink: impl FnMut(Vec<Scanned>) -> bool + Send,
    ) -> Result<ScanSummary, ScanError> {
        // What may belong to another file of a folder is read after that, unless it was read with it.
        let is_companion = |part: &FilePart| {
            let file = &self.files[part.file];
            !file.named && file.path.as_deref().is_some_and(Formats::is_companion)
        };
        let (late, mut parts): (Vec<_>, Vec<_>) = self.parts().into_iter().partition(is_companion);
        let early = parts.len();
        parts.extend(late);
        let work = Work {
            scan: self,
            progress,
            parts: &parts,
            delivery: Delivery::new(sink),
            next: AtomicUsize::new(0),
            companions: Mutex::default(),
            summary: Mutex::default(),
            failed: Mutex::default(),
        };
        for end in [early, parts.len()] {
            std::thread::scope(|scope| {
                for _ in 0..workers.max(1) {
                    scope.spawn(|| work.work(end));
                }
            });
            // Threads took one more than there were.
            work.next.store(end, Ordering::Relaxed);
        }
        if let Some(failed) = work.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(failed);
        }
        let mut summary = work.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
        summary.passed_over.sort();
        summary.interrupted = progress.is_stopped();
        Ok(summary)
    }

    /// Scans one part. `sink` says whether it takes more.
    pub fn scan_part(
        &self,
        part: &FilePart,
        progress: &ScanProgress,
        sink: &mut dyn FnMut(Vec<Scanned>) -> bool,
    ) -> Result<ScanSummary, ScanError> {
        let mut scanner = SessionScanner::new(Arc::clone(&self.rules), &self.files[part.file].name);
        let companions = Mutex::default();
        PartScan::new(self, part, progress, &mut scanner, &companions, sink).run()
    }
}

/// What threads share.
struct Work<'w, F> {
    scan: &'w Scan,
    progress: &'w ScanProgress,
    parts: &'w [FilePart],
    delivery: Delivery<F>,
    next: AtomicUsize,
    companions: Mutex<HashSet<PathBuf>>,
    summary: Mutex<ScanSummary>,
    failed: Mutex<Option<ScanError>>,
}

impl<F: FnMut(Vec<Scanned>) -> bool> Work<'_, F> {
    /// Scans parts before this one until there is none.
    fn work(&self, end: usize) {
        let mut scanner = SessionScanner::new(Arc::clone(&self.scan.rules), "");
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= end || self.progress.is_stopped() {
                return;
            }
            let mut sink = |rows: Vec<Scanned>| self.delivery.rows(number, rows);
            let part = &self.parts[number];
            let done =
                PartScan::new(self.scan, part, self.progress, &mut scanner, &self.companions, &mut sink)
                    .run();
            match done {
                Ok(done) => self.summary.lock().unwrap_or_else(PoisonError::into_inner).add(done),
                Err(error) => {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    self.progress.stop();
                    self.delivery.stop();
                }
            }
            self.delivery.end(number);
        }
    }
}

/// A part that is being scanned.
struct PartScan<'p> {
    scan: &'p Scan,
    part: &'p FilePart,
    file: &'p RecordingFile,
    progress: &'p ScanProgress,
    scanner: &'p mut SessionScanner,
    /// Files that were read with others.
    companions: &'p Mutex<HashSet<PathBuf>>,
    sink: &'p mut dyn FnMut(Vec<Scanned>) -> bool,
    rows: Vec<Scanned>,
    /// How many of the rows were looked at whether they are wanted.
    kept: usize,
    summary: ScanSummary,
}

impl<'p> PartScan<'p> {
    fn new(
        scan: &'p Scan,
        part: &'p FilePart,
        progress: &'p ScanProgress,
        scanner: &'p mut SessionScanner,
        companions: &'p Mutex<HashSet<PathBuf>>,
        sink: &'p mut dyn FnMut(Vec<Scanned>) -> bool,
    ) -> Self {
        let file = &scan.files[part.file];
        scanner.set_source(&file.name);
        let summary = ScanSummary::default();
        Self { scan, part, file, progress, scanner, companions, sink, rows: Vec::new(), kept: 0, summary }
    }

    fn run(mut self) -> Result<ScanSummary, ScanError> {
        let (sessions, messages) = (self.scanner.sessions(), self.scanner.messages());
        self.read()?;
        self.keep_wanted();
        self.flush();
        self.summary.sessions = self.scanner.sessions() - sessions;
        self.summary.messages = self.scanner.messages() - messages;
        Ok(self.summary)
    }

    fn read(&mut self) -> Result<(), ScanError> {
        if let (Some(range), Some(path)) = (&self.part.range, &self.file.path) {
            self.summary.files = u64::from(range.start == 0);
            return self.range(path, range.clone()).map_err(|source| self.unreadable(source).into());
        }
        if let Some(path) = &self.file.path
            && self.companions.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
        {
            self.pass_over("it was read with the session that started it");
            return Ok(());
        }
        let length = self.file.path.as_ref().and_then(|path| std::fs::metadata(path).ok());
        let read = self.whole();
        self.progress.bytes.fetch_add(length.map_or(0, |about| about.len()), Ordering::Relaxed);
        match read {
            Err(ScanError::Import(error @ (ImportError::Nothing { .. } | ImportError::Unknown { .. })))
                if !self.file.named =>
            {
                self.pass_over(&error.to_string());
                Ok(())
            }
            // A file of a folder that is broken is one error, and says nothing about the others.
            Err(ScanError::Import(error)) if !self.file.named => {
                self.rows.push(Scanned::Error(RowError {
                    source: self.file.name.clone(),
                    session: None,
                    at: None,
                    indicator: None,
                    reason: error.to_string(),
                }));
                Ok(())
            }
            read => read,
        }
    }

    /// The sessions of a trace whose header begins in a range.
    fn range(&mut self, path: &std::path::Path, range: std::ops::Range<u64>) -> io::Result<()> {
        let mut lines = Lines::open(path, range.start)?;
        let (mut told, mut is_begun) = (range.start, range.start == 0);
        while let Some((at, line, is_whole)) = lines.next_line()? {
            if !is_begun {
                // The session before began in an earlier part.
                is_begun = at < range.end && is_header(line);
                if at >= range.end {
                    break;
                }
                if !is_begun {
                    continue;
                }
            } else if at >= range.end && is_header(line) {
                break;
            }
            self.line(at, line, is_whole);
            if at - told >= TOLD {
                // What lies behind the range counts for the thread whose range it is.
                let until = at.min(range.end);
                self.progress.bytes.fetch_add(until.saturating_sub(told), Ordering::Relaxed);
                told = at;
                if !self.go_on() {
                    return Ok(());
                }
            } else if self.rows.len() >= BATCH && !self.go_on() {
                return Ok(());
            }
        }
        self.progress.bytes.fetch_add(range.end.saturating_sub(told), Ordering::Relaxed);
        Ok(())
    }

    fn line(&mut self, at: u64, line: &[u8], is_whole: bool) {
        if is_whole {
            self.scanner.line(at, line, &mut self.rows);
        } else {
            self.rows.push(Scanned::Error(RowError {
                source: self.file.name.clone(),
                session: Some(self.scanner.session().to_owned()),
                at: Some(at),
                indicator: None,
                reason: format!("the line is longer than {} bytes", crate::MAX_LINE_BYTES),
            }));
        }
    }

    fn whole(&mut self) -> Result<(), ScanError> {
        let limits = InputLimits::default();
        let mut input = match &self.file.path {
            Some(path) => Input::file(path, &self.file.name, limits)?,
            None => Input::stream(BufReader::new(io::stdin()), &self.file.name, limits)?,
        }
        .with_servers(&self.scan.servers);
        let head = input.head()?;
        if head.starts_with(TRACE_START) {
            self.summary.files = 1;
            return self.lines(Lines::new(input.into_reader()));
        }
        if head.starts_with(sortie_recording::parquet::MAGIC) && self.scan.format.is_none() {
            return self.rows_of_parquet(input);
        }
        let recognized = Formats::recognize(&input.as_head(&head));
        let format = match self.scan.format {
            Some(format) if self.file.named => Some(format),
            Some(format) => recognized.filter(|found| found.name == format.name),
            None => recognized,
        };
        let Some(format) = format else {
            return Err(ImportError::Unknown { file: self.file.name.clone() }.into());
        };
        self.import(format, input)
    }

    fn import(&mut self, format: &'static Format, input: Input<'_>) -> Result<(), ScanError> {
        let mut is_stopped = false;
        let read = format.read_pending(input, &mut |session: PendingSession| {
            let session = session.finish();
            if !session.companions.is_empty() {
                let mut companions = self.companions.lock().unwrap_or_else(PoisonError::into_inner);
                companions.extend(session.companions.iter().cloned());
            }
            self.scanner.begin(&session.id, &session.header(sortie_detect::SOURCE));
            for record in session.into_records() {
                self.scanner.record(&record, &mut self.rows);
            }
            is_stopped = !self.go_on();
            if is_stopped { Err(ImportError::Stopped("stopped".to_owned())) } else { Ok(()) }
        });
        self.summary.files = 1;
        if is_stopped { Ok(()) } else { Ok(read?) }
    }

    fn lines(&mut self, mut lines: Lines<impl io::BufRead>) -> Result<(), ScanError> {
        loop {
            match lines.next_line() {
                Ok(Some((at, line, is_whole))) => self.line(at, line, is_whole),
                Ok(None) => return Ok(()),
                Err(source) => return Err(self.unreadable(source).into()),
            }
            if (self.rows.len() >= BATCH || self.progress.is_stopped()) && !self.go_on() {
                return Ok(());
            }
        }
    }

    /// Rows of `sortie trace export --parquet`: a session is named in each.
    fn rows_of_parquet(&mut self, input: Input<'_>) -> Result<(), ScanError> {
        let name = input.name.to_owned();
        let Some(mut rows) = input.trace_rows()? else {
            return Err(ImportError::Unknown { file: name }.into());
        };
        self.summary.files = 1;
        let mut at = 0;
        while let Some((session, line)) = rows.next_row().map_err(|error| error.of(&name))? {
            at += 1;
            self.scanner.line_of(session, at, line.as_bytes(), &mut self.rows);
            if (self.rows.len() >= BATCH || self.progress.is_stopped()) && !self.go_on() {
                break;
            }
        }
        Ok(())
    }

    /// Hands on what was found, and says whether to go on.
    fn go_on(&mut self) -> bool {
        self.keep_wanted();
        if self.rows.len() >= BATCH && !self.flush() {
            return false;
        }
        !self.progress.is_stopped()
    }

    fn keep_wanted(&mut self) {
        let Self { scan, rows, kept, .. } = self;
        let is_wanted = |row: &FindingRow| {
            scan.span.contains(&row.time)
                && (scan.sessions.is_empty() || scan.sessions.contains(&row.session))
        };
        if scan.span.since.is_some() || scan.span.until.is_some() || !scan.sessions.is_empty() {
            let mut at = 0;
            rows.retain(|row| {
                at += 1;
                at <= *kept || !matches!(row, Scanned::Finding(row) if !is_wanted(row))
            });
        }
        *kept = rows.len();
    }

    fn flush(&mut self) -> bool {
        let rows = std::mem::take(&mut self.rows);
        self.kept = 0;
        let findings = rows.iter().filter(|row| matches!(row, Scanned::Finding(_))).count() as u64;
        self.summary.findings += findings;
        self.summary.errors += rows.len() as u64 - findings;
        self.progress.findings.fetch_add(findings, Ordering::Relaxed);
        (self.sink)(rows)
    }

    fn pass_over(&mut self, why: &str) {
        self.summary.passed_over.push((self.file.name.clone(), why.to_owned()));
    }

    fn unreadable(&self, source: io::Error) -> ImportError {
        ImportError::Io { file: self.file.name.clone(), source }
    }
}

/// Whether a line of a trace is a header.
pub fn is_header(line: &[u8]) -> bool {
    if line.starts_with(TRACE_START) {
        return true;
    }
    // Our own writer puts the kind of a record first, other writers may not.
    !line.starts_with(br#"{"record":""#)
        && memchr::memmem::find(line, b"header").is_some()
        && std::str::from_utf8(line).is_ok_and(|line| {
            matches!(sortie_trace::Record::from_line(line), Ok(sortie_trace::Record::Header(_)))
        })
}

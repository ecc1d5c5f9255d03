//! From what arrives to rows, in one thread: what is written, and when something is acknowledged, has one order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use sortie_import::RecordingFile;
use sortie_scan::{MAX_LINE_BYTES, RowError, Rules, Scan, ScanProgress, Scanned, SessionScanner};
use sortie_spans::ExportItem;
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, FileChunk, FileId, Receipt};
use crate::output::Output;
use crate::position::{StreamPosition, WrittenPosition};
use crate::rows::{KnownFindings, ReportedRow, SeenMessages, content_hash, number_of};
use crate::spans::{SpanGroup, SpanGroups, scan_spans};
use crate::spool::{EntryKind, Spool};
use crate::watch::{RulesLoader, WatchError, WatchOptions, WatchSummary};

/// How many arrivals are written together.
const BATCH: usize = 1024;
/// After how many rows a batch is written.
const BATCH_ROWS: usize = 4096;
/// What open sessions may take in memory, about.
const LIVE_BYTES: usize = 80 << 20;
/// What a session takes in memory, without what it remembers of its messages.
const LIVE_SESSION: usize = 8 << 10;
/// What a session that is put together from spans may take: it is read as a whole.
const GROUP_BYTES: u64 = 32 << 20;
/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_millis(500);
/// The mark of how long the output was.
const OUT_MARK: &str = "out";
/// What the spool calls a session of lines by: groups of spans have other letters.
const LINES_KEY: &str = "l:";

/// A session whose lines arrive.
struct LineSession {
    source: Arc<str>,
    /// None while it is only on disk.
    scanner: Option<Box<SessionScanner>>,
    known: KnownFindings,
    seen: SeenMessages,
    touched: Instant,
    /// What it takes in memory, as it was counted last.
    counted: usize,
    tick: u64,
}

/// A trace that is followed.
struct TraceFile {
    scanner: SessionScanner,
    mark: FileMark,
    /// The rules that its session was read with.
    rules: Arc<Rules>,
}

/// How far a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileMark {
    pub(crate) id: FileId,
    /// Where the session begins.
    begin: u64,
    /// The first byte that was not evaluated.
    pub(crate) offset: u64,
}

impl FileMark {
    fn to_bytes(self) -> Vec<u8> {
        [self.id.device, self.id.inode, self.begin, self.offset]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(8).map(|chunk| chunk.try_into().map(u64::from_le_bytes));
        let mut next = || numbers.next()?.ok();
        let id = FileId { device: next()?, inode: next()? };
        Some(Self { id, begin: next()?, offset: next()? })
    }
}

/// The mark of a file.
pub(crate) fn file_key(name: &str) -> String {
    format!("f:{name}")
}

fn lines_key(session: &str) -> String {
    format!("{LINES_KEY}{session}")
}

/// Evaluates what arrives.
pub(crate) struct Evaluator {
    options: WatchOptions,
    rules: Arc<Rules>,
    loader: RulesLoader,
    note: Box<dyn Fn(&str) + Send>,
    spool: Spool,
    output: Output,
    sessions: HashMap<String, LineSession>,
    groups: SpanGroups,
    files: HashMap<Arc<str>, TraceFile>,
    recordings: HashMap<Arc<str>, KnownFindings>,
    /// Sessions by when they were used: lines and groups.
    order: BTreeMap<u64, (EntryKind, String)>,
    /// Sessions that are in memory, by when they were used.
    live: BTreeMap<u64, String>,
    live_bytes: usize,
    tick: u64,
    /// Findings that a killed process wrote without saying so.
    already: HashSet<u128>,
    rows: Vec<ReportedRow>,
    receipts: Vec<Receipt>,
    /// The last message of a stream that was taken and not written yet.
    position: Option<StreamPosition>,
    /// The mark of the last message of a stream that was written.
    written: Option<(String, WrittenPosition)>,
    marks: HashMap<String, Vec<u8>>,
    /// Groups whose findings are remembered on disk when they are written.
    evaluated: HashSet<String>,
    has_messages: bool,
    summary: WatchSummary,
    expired: u64,
    /// Stops the inputs.
    stop: CancellationToken,
}

impl Evaluator {
    /// Opens the state, and reads open sessions again.
    pub(crate) fn open(
        options: WatchOptions,
        mut loader: RulesLoader,
        note: Box<dyn Fn(&str) + Send>,
        spool: Spool,
        mut output: Output,
    ) -> Result<Self, WatchError> {
        let rules = loader().map_err(WatchError::Rules)?;
        let marked = spool.marked(OUT_MARK).and_then(|mark| mark.try_into().ok()).map(u64::from_le_bytes);
        let already = match marked {
            Some(length) => output.recover(length)?,
            None => HashSet::new(),
        };
        output.end_last_line()?;
        let mut evaluator = Self {
            options,
            rules: Arc::new(rules),
            loader,
            note,
            spool,
            output,
            sessions: HashMap::new(),
            groups: SpanGroups::default(),
            files: HashMap::new(),
            recordings: HashMap::new(),
            order: BTreeMap::new(),
            live: BTreeMap::new(),
            live_bytes: 0,
            tick: 0,
            already,
            rows: Vec::new(),
            receipts: Vec::new(),
            position: None,
            written: None,
            marks: HashMap::new(),
            evaluated: HashSet::new(),
            has_messages: false,
            summary: WatchSummary::default(),
            expired: 0,
            stop: CancellationToken::new(),
        };
        evaluator.recover()?;
        Ok(evaluator)
    }

    /// Stops this when nothing arrives any more.
    pub(crate) fn stopping(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// Remembers in the state how far a stream is written, and tells whoever consumes it.
    #[cfg_attr(not(any(feature = "nats", test)), expect(dead_code, reason = "only JetStream has streams"))]
    pub(crate) fn tracking(mut self, stream: &str, written: WrittenPosition) -> Self {
        let key = format!("n:{stream}");
        if let Some(position) = self.spool.marked(&key).and_then(StreamPosition::from_bytes) {
            written.set(position);
        }
        self.written = Some((key, written));
        self
    }

    /// Open sessions are read again: silently what was written, and then what was not.
    fn recover(&mut self) -> Result<(), WatchError> {
        let mut keys: Vec<(String, EntryKind)> =
            self.spool.sessions().map(|(key, kind)| (key.to_owned(), kind)).collect();
        keys.sort_by(|one, other| one.0.cmp(&other.0));
        let now = Instant::now();
        for (key, kind) in keys {
            if kind == EntryKind::Spans {
                self.recover_group(&key, now)?;
            } else {
                self.recover_lines(&key, now)?;
            }
        }
        self.summary.recovered = (self.sessions.len() + self.groups.groups.len()) as u64;
        self.commit()
    }

    fn recover_group(&mut self, key: &str, now: Instant) -> Result<(), WatchError> {
        let mut group = SpanGroup::new(Arc::from(""), now);
        let mark = self.spool.marked(key).unwrap_or_default();
        let (evaluated, known) = mark.split_at(mark.len().min(8));
        let evaluated = evaluated.try_into().map_or(0, u64::from_le_bytes);
        group.known = KnownFindings::from_bytes(known);
        let (mut ids, mut is_pending) = (Vec::new(), false);
        self.spool.read(key, |entry| {
            is_pending |= entry.number > evaluated;
            let (source, lines) = split_source(&entry.payload);
            group.source = Arc::from(source.1);
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                group.seen.insert(line);
                group.bytes += line.len() as u64;
                ids.extend(ExportItem::split(line).unwrap_or_default().iter().flat_map(SpanGroups::ids));
            }
            Ok(())
        })?;
        if is_pending {
            group.touch(now, self.options.settle, false);
        }
        self.groups.groups.insert(key.to_owned(), group);
        ids.sort();
        ids.dedup();
        self.groups.assign(key, &ids);
        self.use_group(key);
        Ok(())
    }

    fn recover_lines(&mut self, key: &str, now: Instant) -> Result<(), WatchError> {
        let committed = self.spool.committed();
        let mut session = LineSession {
            source: Arc::from(""),
            scanner: None,
            known: KnownFindings::default(),
            seen: SeenMessages::default(),
            touched: now,
            counted: 0,
            tick: 0,
        };
        let name = key.strip_prefix(LINES_KEY).unwrap_or(key);
        let (rules, mut late) = (Arc::clone(&self.rules), Vec::new());
        self.spool.read(key, |entry| {
            let ((at, source), lines) = split_source(&entry.payload);
            let scanner = session.scanner.get_or_insert_with(|| {
                session.source = Arc::from(source);
                Box::new(SessionScanner::new(Arc::clone(&rules), source))
            });
            let mut rows = Vec::new();
            for line in lines_of(lines) {
                session.seen.insert(line);
                scanner.line_of(name, at, line, &mut rows);
            }
            if entry.number > committed {
                late.extend(rows);
            } else {
                findings(&rows).for_each(|row| session.known.insert(row));
            }
            Ok(())
        })?;
        self.sessions.insert(name.to_owned(), session);
        self.report_lines(name, late, false);
        self.use_lines(name);
        self.keep_memory();
        Ok(())
    }

    /// Evaluates until no input is left.
    pub(crate) fn run(mut self, inbox: &Receiver<Arrival>) -> Result<WatchSummary, WatchError> {
        let mut swept = Instant::now();
        let mut last = Instant::now();
        // Inputs wait for quiet too, and look at files now and then.
        let idle = self.options.until_idle.map(|idle| idle.max(self.options.settle + SWEEP));
        loop {
            let now = Instant::now();
            let due = self.groups.next_due().map_or(SWEEP, |due| due.saturating_duration_since(now));
            let mut next = match inbox.recv_timeout(due.min(SWEEP)) {
                Ok(arrival) => Some(arrival),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if next.is_some() || self.groups.next_due().is_some() {
                last = Instant::now();
            }
            if idle.is_some_and(|idle| last.elapsed() >= idle) {
                self.stop.cancel();
            }
            let mut rooms = Vec::new();
            while let Some(mut arrival) = next.take() {
                rooms.push(arrival.room.take());
                self.take(arrival)?;
                if rooms.len() < BATCH && self.rows.len() < BATCH_ROWS {
                    next = inbox.try_recv().ok();
                }
            }
            self.evaluate_due(Instant::now(), false)?;
            self.commit()?;
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep()?;
            }
        }
        self.evaluate_due(Instant::now(), true)?;
        self.commit()?;
        self.spool.sync()?;
        self.summary.open = (self.sessions.len() + self.groups.groups.len()) as u64;
        Ok(self.summary)
    }

    fn take(&mut self, arrival: Arrival) -> Result<(), WatchError> {
        let source = arrival.source;
        match arrival.content {
            ArrivalContent::Lines { session, at, lines, repeated } => {
                self.lines(&source, &session, at, &lines, repeated)?;
            }
            ArrivalContent::Spans(items) => self.spans(&source, items)?,
            ArrivalContent::TraceFile(chunk) => self.trace_file(&source, &chunk),
            ArrivalContent::SpanFile(chunk) => self.span_file(&source, &chunk)?,
            ArrivalContent::Recording(path) => self.recording(&source, path),
            ArrivalContent::Error(error) => {
                self.summary.errors += 1;
                self.rows.push(ReportedRow::new(Scanned::Error(error)));
            }
            ArrivalContent::Reload => self.reload(),
        }
        self.receipts.extend(arrival.receipt);
        // One that is delivered again does not move it back.
        if let Some(position) = arrival.position
            && self.position.is_none_or(|last| !last.covers(position))
        {
            self.position = Some(position);
        }
        Ok(())
    }

    // Lines of sessions that are named elsewhere.

    fn lines(
        &mut self,
        source: &Arc<str>,
        session: &str,
        at: u64,
        lines: &[u8],
        repeated: bool,
    ) -> Result<(), WatchError> {
        let now = Instant::now();
        if !self.sessions.contains_key(session) {
            let new = LineSession {
                source: Arc::clone(source),
                scanner: None,
                known: KnownFindings::default(),
                seen: SeenMessages::default(),
                touched: now,
                counted: 0,
                tick: 0,
            };
            self.sessions.insert(session.to_owned(), new);
        }
        self.wake(session)?;
        let Some(open) = self.sessions.get_mut(session) else { return Ok(()) };
        open.touched = now;
        let Some(scanner) = &mut open.scanner else { return Ok(()) };
        let (mut rows, mut again, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines_of(lines) {
            if open.seen.insert(line) {
                self.summary.repeated_messages += 1;
                if !open.known.is_empty() {
                    // What is delivered twice says nothing new, and must not change the session.
                    let mut copy = scanner.clone();
                    copy.line_of(session, at, line, &mut again);
                }
                continue;
            }
            self.summary.messages += 1;
            new.extend_from_slice(line);
            new.push(b'\n');
            scanner.line_of(session, at, line, &mut rows);
        }
        again.retain(|row| matches!(row, Scanned::Finding(row) if open.known.contains(number_of(&row.id))));
        if !new.is_empty() {
            let payload = [format!("{at}\t{source}\n").as_bytes(), &new].concat();
            self.spool.append(EntryKind::Lines, &lines_key(session), &payload)?;
            self.has_messages = true;
        }
        rows.extend(again);
        self.report_lines(session, rows, repeated);
        self.use_lines(session);
        self.keep_memory();
        Ok(())
    }

    /// Reads a session again that is only on disk.
    fn wake(&mut self, key: &str) -> Result<(), WatchError> {
        let Some(session) = self.sessions.get_mut(key) else { return Ok(()) };
        if session.scanner.is_some() {
            return Ok(());
        }
        let mut scanner = SessionScanner::new(Arc::clone(&self.rules), &session.source);
        let mut rows = Vec::new();
        self.spool.read(&lines_key(key), |entry| {
            let ((at, _), lines) = split_source(&entry.payload);
            for line in lines_of(lines) {
                rows.clear();
                scanner.line_of(key, at, line, &mut rows);
            }
            Ok(())
        })?;
        session.scanner = Some(Box::new(scanner));
        Ok(())
    }

    fn report_lines(&mut self, key: &str, rows: Vec<Scanned>, repeated: bool) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        for row in rows {
            let mut reported = ReportedRow::new(row);
            if let Some(finding) = reported.finding() {
                let id = number_of(&finding.id);
                let is_known = session.known.contains(id);
                session.known.insert(finding);
                if self.already.remove(&id) {
                    continue;
                }
                reported.watched.repeated = is_known || repeated;
                self.summary.count(reported.watched.repeated);
            } else {
                self.summary.errors += 1;
            }
            self.rows.push(reported);
        }
    }

    fn use_lines(&mut self, key: &str) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        self.tick += 1;
        self.order.remove(&session.tick);
        self.live.remove(&session.tick);
        session.tick = self.tick;
        self.order.insert(self.tick, (EntryKind::Lines, key.to_owned()));
        self.live.insert(self.tick, key.to_owned());
        let size = live_size(session);
        self.live_bytes = self.live_bytes.saturating_sub(session.counted) + size;
        session.counted = size;
    }

    /// Sessions that were not used for longest are only on disk.
    fn keep_memory(&mut self) {
        if self.live_bytes <= LIVE_BYTES {
            return;
        }
        while self.live_bytes > LIVE_BYTES / 4 * 3 && self.live.len() > 1 {
            let Some((_, key)) = self.live.pop_first() else { return };
            if let Some(session) = self.sessions.get_mut(&key) {
                session.scanner = None;
                self.live_bytes = self.live_bytes.saturating_sub(std::mem::take(&mut session.counted));
            }
        }
    }

    // Spans.

    fn spans(&mut self, source: &Arc<str>, items: Vec<ExportItem>) -> Result<(), WatchError> {
        let now = Instant::now();
        // Items of one group that follow each other are one entry.
        let mut entry: (String, Vec<u8>) = Default::default();
        for item in items {
            let ids = SpanGroups::ids(&item);
            let found = self.groups.find(&ids);
            if found.len() > 1 || found.first().is_some_and(|key| *key != entry.0) {
                self.put_spans(source, &mut entry)?;
            }
            let key = match &found[..] {
                [] => {
                    self.put_spans(source, &mut entry)?;
                    self.groups.groups.insert(ids[0].clone(), SpanGroup::new(Arc::clone(source), now));
                    ids[0].clone()
                }
                [key, others @ ..] => {
                    for other in others {
                        self.merge_groups(other, key)?;
                    }
                    key.clone()
                }
            };
            self.groups.assign(&key, &ids);
            let settle = self.options.settle;
            let Some(group) = self.groups.groups.get_mut(&key) else { continue };
            if group.seen.insert(item.line.as_bytes()) {
                self.summary.repeated_messages += 1;
                continue;
            }
            self.summary.messages += 1;
            group.bytes += item.line.len() as u64;
            group.touch(now, settle, item.is_root);
            entry.0 = key;
            entry.1.extend_from_slice(item.line.as_bytes());
            entry.1.push(b'\n');
        }
        self.put_spans(source, &mut entry)
    }

    fn put_spans(&mut self, source: &str, entry: &mut (String, Vec<u8>)) -> Result<(), WatchError> {
        let (key, lines) = std::mem::take(entry);
        if lines.is_empty() {
            return Ok(());
        }
        let payload = [format!("0\t{source}\n").as_bytes(), &lines].concat();
        self.spool.append(EntryKind::Spans, &key, &payload)?;
        self.has_messages = true;
        self.use_group(&key);
        if self.groups.groups.get(&key).is_some_and(|group| group.bytes > GROUP_BYTES) {
            (self.note)(&format!(
                "a session ended early: its spans take more than {GROUP_BYTES} bytes; later spans of it are a new session"
            ));
            self.expired += 1;
            self.summary.expired_early = self.expired;
            self.close(EntryKind::Spans, &key)?;
        }
        Ok(())
    }

    fn merge_groups(&mut self, from: &str, into: &str) -> Result<(), WatchError> {
        if let Some(group) = self.groups.groups.get(from) {
            self.order.remove(&group.tick);
        }
        self.spool.merge(from, into)?;
        self.groups.merge(from, into);
        self.evaluated.insert(into.to_owned());
        Ok(())
    }

    fn use_group(&mut self, key: &str) {
        let Some(group) = self.groups.groups.get_mut(key) else { return };
        self.tick += 1;
        self.order.remove(&group.tick);
        group.tick = self.tick;
        self.order.insert(self.tick, (EntryKind::Spans, key.to_owned()));
    }

    fn evaluate_due(&mut self, now: Instant, all: bool) -> Result<(), WatchError> {
        let is_due = |group: &SpanGroup| group.due.is_some_and(|due| all || due <= now);
        let mut due: Vec<String> = self
            .groups
            .groups
            .iter()
            .filter(|(_, group)| is_due(group))
            .map(|(key, _)| key.clone())
            .collect();
        due.sort();
        for key in due {
            self.evaluate_group(&key)?;
            if self.rows.len() >= BATCH_ROWS {
                self.commit()?;
            }
        }
        Ok(())
    }

    fn evaluate_group(&mut self, key: &str) -> Result<(), WatchError> {
        let begun = Instant::now();
        let mut lines = Vec::new();
        self.spool.read(key, |entry| {
            lines.extend_from_slice(split_source(&entry.payload).1);
            Ok(())
        })?;
        let Some(group) = self.groups.groups.get_mut(key) else { return Ok(()) };
        let mut rows = Vec::new();
        scan_spans(&self.rules, &group.source, lines, &mut rows);
        let ids: HashSet<u128> = findings(&rows).map(|row| number_of(&row.id)).collect();
        let mut moved = group.known.missing_from(&ids);
        for row in rows {
            let mut reported = ReportedRow::new(row);
            if let Some(finding) = reported.finding() {
                let id = number_of(&finding.id);
                if group.known.contains(id) {
                    continue;
                }
                group.known.insert(finding);
                let replaced = moved.get_mut(&content_hash(finding)).and_then(Vec::pop);
                if self.already.remove(&id) {
                    continue;
                }
                if let Some(replaced) = replaced {
                    group.known.remove(replaced);
                    reported.watched.replaces = Some(format!("{replaced:032x}"));
                }
                self.summary.count(false);
            } else if let Scanned::Error(error) = &reported.row {
                if !group.known.insert_error(error) {
                    continue;
                }
                self.summary.errors += 1;
            }
            self.rows.push(reported);
        }
        group.rest(begun.elapsed());
        self.evaluated.insert(key.to_owned());
        Ok(())
    }

    // Files.

    fn trace_file(&mut self, name: &Arc<str>, chunk: &FileChunk) {
        // A line that is too long is left out by whoever reads the file, and the session goes on behind it.
        let goes_on = |mark: FileMark| mark.id == chunk.id && mark.offset <= chunk.at;
        let is_next = |file: &TraceFile| goes_on(file.mark) && Arc::ptr_eq(&file.rules, &self.rules);
        if !self.files.get(name).is_some_and(is_next) {
            let known = self.files.get(name).map(|file| file.mark);
            let marked = || FileMark::from_bytes(self.spool.marked(&file_key(name))?);
            let mark = known.or_else(marked).filter(|mark| goes_on(*mark));
            let file = self.reopen(name, &chunk.path, mark, chunk);
            self.files.insert(Arc::clone(name), file);
        }
        let Some(file) = self.files.get_mut(name) else { return };
        let (mut at, mut rows) = (chunk.at, Vec::new());
        let messages = file.scanner.messages();
        for line in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            let sessions = file.scanner.sessions();
            file.scanner.line(at, line, &mut rows);
            if file.scanner.sessions() != sessions {
                file.mark.begin = at;
            }
            at += line.len() as u64;
        }
        file.mark.offset = at;
        self.summary.messages += file.scanner.messages() - messages;
        self.marks.insert(file_key(name), file.mark.to_bytes());
        self.report_once(rows);
    }

    /// A file that goes on: its session is read again silently.
    fn reopen(&self, name: &Arc<str>, path: &Path, mark: Option<FileMark>, chunk: &FileChunk) -> TraceFile {
        let mut scanner = SessionScanner::new(Arc::clone(&self.rules), name);
        let start = FileMark { id: chunk.id, begin: chunk.at, offset: chunk.at };
        let mark = mark.unwrap_or(start);
        if mark.begin < mark.offset
            && let Err(error) = read_again(path, mark, &mut scanner)
        {
            (self.note)(&format!("`{name}`: the beginning of its session cannot be read again: {error}"));
        }
        TraceFile { scanner, mark, rules: Arc::clone(&self.rules) }
    }

    fn span_file(&mut self, name: &Arc<str>, chunk: &FileChunk) -> Result<(), WatchError> {
        let mut at = chunk.at;
        for line in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            let trimmed = line.trim_ascii();
            if !trimmed.is_empty() {
                match ExportItem::split(trimmed) {
                    Ok(items) => self.spans(name, items)?,
                    Err(error) => {
                        self.summary.errors += 1;
                        self.rows.push(ReportedRow::new(Scanned::Error(RowError {
                            source: name.to_string(),
                            session: None,
                            at: Some(at),
                            indicator: None,
                            reason: error.to_string(),
                        })));
                    }
                }
            }
            at += line.len() as u64;
        }
        let mark = FileMark { id: chunk.id, begin: at, offset: at };
        self.marks.insert(file_key(name), mark.to_bytes());
        Ok(())
    }

    /// A recording that has to be read as a whole.
    fn recording(&mut self, name: &Arc<str>, path: PathBuf) {
        let file = RecordingFile { path: Some(path), name: name.to_string(), named: true };
        let scan = Scan::new(Arc::clone(&self.rules), vec![file]);
        let mut rows = Vec::new();
        let done = scan.run(1, &ScanProgress::default(), |found| {
            rows.extend(found);
            true
        });
        if let Err(error) = done {
            rows.push(Scanned::Error(RowError {
                source: name.to_string(),
                session: None,
                at: None,
                indicator: None,
                reason: error.to_string(),
            }));
        }
        let key = format!("k:{name}");
        let known = self
            .recordings
            .entry(Arc::clone(name))
            .or_insert_with(|| self.spool.marked(&key).map(KnownFindings::from_bytes).unwrap_or_default());
        let mut new = Vec::new();
        for row in rows {
            let is_new = match &row {
                Scanned::Finding(row) => {
                    let is_new = !known.contains(number_of(&row.id));
                    known.insert(row);
                    is_new
                }
                Scanned::Error(error) => known.insert_error(error),
            };
            if is_new {
                new.push(row);
            }
        }
        self.marks.insert(key, known.to_bytes());
        self.report_once(new);
    }

    fn report_once(&mut self, rows: Vec<Scanned>) {
        for row in rows {
            let reported = ReportedRow::new(row);
            match reported.finding() {
                Some(finding) if self.already.remove(&number_of(&finding.id)) => continue,
                Some(_) => self.summary.count(false),
                None => self.summary.errors += 1,
            }
            self.rows.push(reported);
        }
    }

    // All of them.

    /// Writes what was found, remembers that, and acknowledges what it was found in.
    fn commit(&mut self) -> Result<(), WatchError> {
        let is_idle = self.rows.is_empty()
            && self.receipts.is_empty()
            && self.marks.is_empty()
            && self.evaluated.is_empty();
        if is_idle && !self.has_messages {
            return Ok(());
        }
        if std::mem::take(&mut self.has_messages) {
            self.spool.sync()?;
        }
        let note = &self.note;
        self.output.write(&self.rows, &mut |text| note(&text)).map_err(WatchError::Output)?;
        let has_rows = !self.rows.is_empty();
        self.rows.clear();
        for (key, mark) in self.marks.drain() {
            self.spool.mark(&key, &mark);
        }
        self.spool.commit();
        for key in self.evaluated.drain() {
            if let Some(group) = self.groups.groups.get(&key) {
                // Up to here it was evaluated, unless something is waiting.
                let number = if group.due.is_none() { self.spool.committed() } else { 0 };
                let mark = [&number.to_le_bytes()[..], &group.known.to_bytes()].concat();
                self.spool.mark(&key, &mark);
            }
        }
        if has_rows && let Some(length) = self.output.length() {
            self.spool.mark(OUT_MARK, &length.to_le_bytes());
        }
        let moved = self.position.take().zip(self.written.as_ref());
        let moved =
            moved.filter(|(position, (_, written))| written.get().is_none_or(|last| !last.covers(*position)));
        if let Some((position, (key, _))) = moved {
            self.spool.mark(key, &position.to_bytes());
        }
        self.spool.flush()?;
        if let Some((position, (_, written))) = moved {
            written.set(position);
        }
        for receipt in self.receipts.drain(..) {
            receipt();
        }
        Ok(())
    }

    /// Ends sessions that are idle, and those that there is no room for.
    fn sweep(&mut self) -> Result<(), WatchError> {
        let now = Instant::now();
        let expired = self.expired;
        while let Some((_, (kind, key))) = self.order.first_key_value() {
            let (kind, key) = (*kind, key.clone());
            let touched = match kind {
                EntryKind::Spans => self.groups.groups.get(&key).map(|group| group.touched),
                _ => self.sessions.get(&key).map(|session| session.touched),
            };
            let is_idle = touched.is_none_or(|touched| now - touched >= self.options.session_idle);
            let is_over = self.order.len() > self.options.max_sessions;
            if !is_idle && !is_over {
                break;
            }
            self.expired += u64::from(!is_idle);
            self.close(kind, &key)?;
        }
        while self.spool.bytes() > self.options.max_spool_bytes {
            if self.spool.live_bytes() < self.options.max_spool_bytes / 2 && self.spool.compact()? {
                continue;
            }
            let Some((_, (kind, key))) = self.order.pop_first() else { break };
            self.expired += 1;
            self.close(kind, &key)?;
        }
        if self.expired != expired {
            (self.note)(&format!(
                "{} sessions ended early: there are more than {}, or they take more than {} bytes; later messages of them are new sessions",
                self.expired - expired,
                self.options.max_sessions,
                self.options.max_spool_bytes,
            ));
            self.summary.expired_early = self.expired;
        }
        self.commit()?;
        self.spool.flush()?;
        Ok(())
    }

    fn close(&mut self, kind: EntryKind, key: &str) -> Result<(), WatchError> {
        if kind == EntryKind::Spans {
            if self.groups.groups.get(key).is_some_and(|group| group.due.is_some()) {
                self.evaluate_group(key)?;
                self.commit()?;
            }
            if let Some(group) = self.groups.remove(key) {
                self.order.remove(&group.tick);
            }
        } else if let Some(session) = self.sessions.remove(key) {
            self.order.remove(&session.tick);
            self.live.remove(&session.tick);
            self.live_bytes = self.live_bytes.saturating_sub(session.counted);
            self.spool.close(&lines_key(key));
            return Ok(());
        }
        self.spool.close(key);
        Ok(())
    }

    /// Loads the rules again. Open sessions are read again with them, silently, when something of them arrives.
    fn reload(&mut self) {
        match (self.loader)() {
            Ok(rules) => {
                (self.note)(&format!("the rules were loaded again: {} documents", rules.len()));
                self.rules = Arc::new(rules);
                self.summary.reloads += 1;
                for session in self.sessions.values_mut() {
                    session.scanner = None;
                    session.counted = 0;
                }
                self.live.clear();
                self.live_bytes = 0;
            }
            Err(error) => {
                (self.note)(&format!("the rules cannot be loaded; the old ones stay in use: {error}"));
            }
        }
    }
}

#[cfg(test)]
impl Evaluator {
    pub(crate) fn take_for_test(&mut self, arrival: Arrival) {
        self.take(arrival).unwrap();
    }

    pub(crate) fn flush_spool_for_test(&mut self) {
        self.spool.flush().unwrap();
    }

    pub(crate) fn lines_for_test(&self) -> String {
        self.rows.iter().map(|row| row.to_line() + "\n").collect()
    }

    pub(crate) fn sweep_for_test(&mut self) {
        self.sweep().unwrap();
    }

    pub(crate) fn summary_for_test(&self) -> WatchSummary {
        self.summary
    }
}

fn live_size(session: &LineSession) -> usize {
    LIVE_SESSION + session.scanner.as_ref().map_or(0, |scanner| scanner.memory()) + session.seen.bytes()
}

fn findings(rows: &[Scanned]) -> impl Iterator<Item = &sortie_scan::FindingRow> {
    rows.iter().filter_map(|row| match row {
        Scanned::Finding(row) => Some(&**row),
        Scanned::Error(_) => None,
    })
}

/// The first line of an entry says where it is from.
fn split_source(payload: &[u8]) -> ((u64, &str), &[u8]) {
    let end = payload.iter().position(|byte| *byte == b'\n').unwrap_or(payload.len());
    let (first, lines) = payload.split_at(end);
    let first = std::str::from_utf8(first).unwrap_or_default();
    let (at, source) = first.split_once('\t').unwrap_or(("0", first));
    ((at.parse().unwrap_or(0), source), lines.strip_prefix(b"\n").unwrap_or_default())
}

fn lines_of(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty())
}

/// Reads the session of a file again, from its header to where it was read.
fn read_again(path: &Path, mark: FileMark, scanner: &mut SessionScanner) -> io::Result<()> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    if (about.dev(), about.ino()) != (mark.id.device, mark.id.inode) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "another file has replaced it"));
    }
    file.seek(SeekFrom::Start(mark.begin))?;
    let mut reader = BufReader::with_capacity(1 << 20, file.take(mark.offset - mark.begin));
    let (mut line, mut at, mut rows) = (Vec::new(), mark.begin, Vec::new());
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        rows.clear();
        scanner.line(at, &line, &mut rows);
        at += read as u64;
    }
}

//! Files as they grow.
//!
//! A trace and a file of exports are read on from where they were read before. Any other recording is read again as a whole when it changed and
//! is quiet. A file that is renamed is read to its end before the one that has its name now; a file that is shorter than before is read again.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sortie_import::{Formats, Input, InputLimits, RecordingFile};
use sortie_scan::{MAX_LINE_BYTES, RowError};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::arrival::{Arrival, ArrivalContent, FileChunk, FileId, Inbox};
use crate::evaluator::FileMark;

/// How often files are looked at when nothing happens.
const POLL: Duration = Duration::from_millis(100);
/// How often folders are.
const FOLDERS: Duration = Duration::from_secs(2);
/// How much is read at once.
const CHUNK: usize = 512 << 10;
/// The most files.
const MAX_FILES: usize = 10_000;
/// How long nobody minds that a file is of no format.
const PATIENCE: Duration = Duration::from_secs(10);
const TRACE_START: &[u8] = br#"{"record":"header""#;

/// Follows files.
pub(crate) struct Follower {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) marks: HashMap<String, FileMark>,
    pub(crate) inbox: Inbox,
    pub(crate) runtime: Handle,
    pub(crate) settle: Duration,
    pub(crate) stop: CancellationToken,
    pub(crate) note: Box<dyn Fn(&str) + Send>,
}

/// A file that is followed.
struct FollowedFile {
    path: PathBuf,
    name: Arc<str>,
    /// Whether it was named, and is not only in a folder.
    is_named: bool,
    first_seen: Instant,
    kind: Option<FileKind>,
    open: Option<(File, FileId)>,
    offset: u64,
    buffer: Vec<u8>,
    /// Whether the rest of a line that is too long is passed over.
    is_skipping: bool,
    was_noted: bool,
    recording: RecordingState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Trace,
    Spans,
    Recording,
}

/// When a recording is to be read again.
#[derive(Default)]
struct RecordingState {
    seen: Option<(u64, SystemTime)>,
    changed: Option<Instant>,
    rested: Option<Instant>,
    sent: Option<Instant>,
    is_busy: Arc<AtomicBool>,
}

impl Follower {
    /// Follows until it is stopped, or nobody listens.
    pub(crate) fn run(mut self) {
        let mut files: BTreeMap<PathBuf, FollowedFile> = BTreeMap::new();
        let mut looked: Option<Instant> = None;
        while !self.stop.is_cancelled() {
            if looked.is_none_or(|looked| looked.elapsed() >= FOLDERS) {
                self.find(&mut files);
                looked = Some(Instant::now());
            }
            let mut is_busy = false;
            let mut companions = Vec::new();
            for file in files.values_mut() {
                match self.step(file) {
                    Ok(Step::Idle) => {}
                    Ok(Step::Read) => is_busy = true,
                    Ok(Step::Companion) => companions.push(file.path.clone()),
                    Ok(Step::Closed) => return,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        if !file.was_noted {
                            (self.note)(&format!("cannot read `{}`: {error}", file.name));
                            file.was_noted = true;
                        }
                    }
                }
            }
            for companion in companions {
                for file in files.values_mut() {
                    if companion.starts_with(file.path.with_extension("")) {
                        file.recording.changed = Some(Instant::now());
                    }
                }
            }
            if !is_busy {
                std::thread::sleep(POLL);
            }
        }
    }

    fn find(&self, files: &mut BTreeMap<PathBuf, FollowedFile>) {
        let Ok(found) = RecordingFile::find(&self.paths) else { return };
        for found in found {
            let Some(path) = found.path else { continue };
            if files.len() == MAX_FILES || files.contains_key(&path) {
                continue;
            }
            let file = FollowedFile {
                path: path.clone(),
                name: Arc::from(found.name.as_str()),
                is_named: found.named,
                first_seen: Instant::now(),
                kind: None,
                open: None,
                offset: 0,
                buffer: Vec::new(),
                is_skipping: false,
                was_noted: false,
                recording: RecordingState::default(),
            };
            files.insert(path, file);
        }
    }

    fn step(&mut self, file: &mut FollowedFile) -> io::Result<Step> {
        if file.kind.is_none() {
            file.kind = self.recognize(file)?;
        }
        match file.kind {
            None => Ok(Step::Idle),
            Some(FileKind::Recording) => Ok(self.recording(file)),
            Some(kind) => self.lines(file, kind),
        }
    }

    /// What a file is, as soon as its beginning says it.
    fn recognize(&self, file: &mut FollowedFile) -> io::Result<Option<FileKind>> {
        if self.marks.contains_key(&*file.name) && self.rotated(file).is_some() {
            // It goes on as what it was.
            return Ok(Some(
                Self::kind_of(file, &self.rotated(file).unwrap_or_default())?.unwrap_or(FileKind::Trace),
            ));
        }
        let path = file.path.clone();
        let kind = Self::kind_of(file, &path)?;
        if kind.is_none() && file.is_named && !file.was_noted && file.first_seen.elapsed() > PATIENCE {
            (self.note)(&format!("`{}`: its format is unknown so far", file.name));
            file.was_noted = true;
        }
        Ok(kind)
    }

    fn kind_of(file: &FollowedFile, path: &Path) -> io::Result<Option<FileKind>> {
        if fs::metadata(path)?.len() == 0 {
            return Ok(None);
        }
        let other = |error: sortie_import::ImportError| io::Error::other(error.to_string());
        let mut input = Input::file(path, &file.name, InputLimits::default()).map_err(other)?;
        let head = input.head().map_err(other)?;
        if head.starts_with(TRACE_START) {
            return Ok(Some(FileKind::Trace));
        }
        let Some(format) = Formats::recognize(&input.as_head(&head)) else { return Ok(None) };
        let is_plain = {
            let mut start = [0; 1];
            File::open(path)?.read_exact_at(&mut start, 0)?;
            start == *b"{"
        };
        // One JSON text over many lines is no file that grows by lines.
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
        let is_lines = is_plain && first.len() > 2 && first.ends_with(b"}");
        let is_spans = matches!(format.name, "otlp" | "openinference" | "openllmetry") && is_lines;
        Ok(Some(if is_spans { FileKind::Spans } else { FileKind::Recording }))
    }

    /// The file that was read before, where it has another name now.
    fn rotated(&self, file: &FollowedFile) -> Option<PathBuf> {
        let mark = self.marks.get(&*file.name)?;
        let is_it = |path: &Path| fs::metadata(path).is_ok_and(|about| id_of(&about) == mark.id);
        if is_it(&file.path) {
            return None;
        }
        let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
        entries.take(MAX_FILES).flatten().map(|entry| entry.path()).find(|path| is_it(path))
    }

    fn lines(&mut self, file: &mut FollowedFile, kind: FileKind) -> io::Result<Step> {
        if file.open.is_none() {
            let path = self.rotated(file).unwrap_or_else(|| file.path.clone());
            let opened = File::open(&path)?;
            let id = id_of(&opened.metadata()?);
            let mark = self.marks.remove(&*file.name).filter(|mark| mark.id == id);
            file.offset = mark.map_or(0, |mark| mark.offset);
            file.open = Some((opened, id));
        }
        let Some((opened, id)) = &file.open else { return Ok(Step::Idle) };
        let (id, length) = (*id, opened.metadata()?.len());
        let read_to = file.offset + file.buffer.len() as u64;
        if length < read_to {
            (self.note)(&format!("`{}` is shorter than before; it is read again from the start", file.name));
            (file.offset, file.is_skipping) = (0, false);
            file.buffer.clear();
            return Ok(Step::Read);
        }
        let begin = file.buffer.len();
        file.buffer.resize(begin + CHUNK, 0);
        let read = opened.read_at(&mut file.buffer[begin..], read_to);
        file.buffer.truncate(begin + *read.as_ref().unwrap_or(&0));
        let is_at_end = read? == 0;
        let is_replaced = is_at_end && fs::metadata(&file.path).is_ok_and(|about| id_of(&about) != id);
        if file.is_skipping {
            // Nothing is kept of a line that is too long. What stands behind it is looked at as if it came now.
            let end = file.buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            file.is_skipping = end.is_none() && !is_replaced;
            let skipped = end.unwrap_or(file.buffer.len());
            file.offset += skipped as u64;
            file.buffer.drain(..skipped);
            if file.is_skipping {
                return Ok(if is_at_end { Step::Idle } else { Step::Read });
            }
        }
        let begin = begin.min(file.buffer.len());
        let end = match memchr_last(&file.buffer[begin..]) {
            Some(at) => begin + at + 1,
            // Whoever wrote it writes no more: its last line is a line.
            None if is_replaced => file.buffer.len(),
            None => 0,
        };
        if end == 0 && file.buffer.len() > MAX_LINE_BYTES {
            let reason = format!("the line is longer than {MAX_LINE_BYTES} bytes");
            let error = RowError {
                source: file.name.to_string(),
                session: None,
                at: Some(file.offset),
                indicator: None,
                reason,
            };
            file.offset += file.buffer.len() as u64;
            (file.buffer, file.is_skipping) = (Vec::new(), true);
            return Ok(self.send(&file.name, ArrivalContent::Error(error), 1024));
        }
        if end > 0 {
            let rest = file.buffer.split_off(end);
            let bytes = std::mem::replace(&mut file.buffer, rest);
            let chunk = FileChunk { path: file.path.clone(), id, at: file.offset, bytes };
            file.offset += end as u64;
            let content = match kind {
                FileKind::Spans => ArrivalContent::SpanFile(chunk),
                FileKind::Trace | FileKind::Recording => ArrivalContent::TraceFile(chunk),
            };
            return Ok(self.send(&file.name, content, end));
        }
        if is_replaced {
            (file.open, file.kind, file.offset) = (None, None, 0);
            file.buffer.clear();
            return Ok(Step::Read);
        }
        Ok(if file.buffer.len() > begin { Step::Read } else { Step::Idle })
    }

    fn recording(&self, file: &mut FollowedFile) -> Step {
        let Ok(about) = fs::metadata(&file.path) else { return Step::Idle };
        let state = &mut file.recording;
        let now = Instant::now();
        let seen = (about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        let mut step = Step::Idle;
        if state.seen != Some(seen) {
            state.seen = Some(seen);
            state.changed = Some(now);
            if !file.is_named && Formats::is_companion(&file.path) {
                step = Step::Companion;
            }
        }
        if !file.is_named && Formats::is_companion(&file.path) {
            return step;
        }
        if state.is_busy.load(Ordering::Acquire) {
            return step;
        }
        if let Some(sent) = state.sent.take() {
            // Reading it again and again takes no more than a fifth of the time.
            state.rested = Some(now + sent.elapsed() * 4);
        }
        let is_quiet = state.changed.is_some_and(|changed| changed.elapsed() >= self.settle);
        if !is_quiet || state.rested.is_some_and(|rested| now < rested) {
            return step;
        }
        (state.changed, state.sent) = (None, Some(now));
        state.is_busy.store(true, Ordering::Release);
        let is_busy = Arc::clone(&state.is_busy);
        let arrival = Arrival {
            source: Arc::clone(&file.name),
            content: ArrivalContent::Recording(file.path.clone()),
            receipt: Some(Box::new(move || is_busy.store(false, Ordering::Release))),
            position: None,
            room: None,
        };
        if self.inbox.send(arrival) { Step::Read } else { Step::Closed }
    }

    fn send(&self, name: &Arc<str>, content: ArrivalContent, bytes: usize) -> Step {
        let room = self.runtime.block_on(async {
            tokio::select! {
                room = self.inbox.room(bytes) => room,
                () = self.stop.cancelled() => None,
            }
        });
        if room.is_none() {
            return Step::Closed;
        }
        let arrival = Arrival { source: Arc::clone(name), content, receipt: None, position: None, room };
        if self.inbox.send(arrival) { Step::Read } else { Step::Closed }
    }
}

enum Step {
    Idle,
    Read,
    /// A file that is read with another changed.
    Companion,
    /// Nobody listens.
    Closed,
}

fn id_of(about: &fs::Metadata) -> FileId {
    FileId { device: about.dev(), inode: about.ino() }
}

fn memchr_last(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}

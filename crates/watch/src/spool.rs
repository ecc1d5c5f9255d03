//! The messages of open sessions on disk, so that a session can be evaluated again: after a restart, with other rules, or since it was idle.
//!
//! A log in segments. An entry is written before its message is acknowledged; a mark says how far findings were written. A segment is removed
//! when no open session has an entry in it; entries that keep an old segment alive are copied forward.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// When the next segment begins.
const SEGMENT_BYTES: u64 = 16 << 20;
/// The largest entry: a message and its key.
const MAX_ENTRY: usize = 64 << 20;
/// Length and checksum.
const FRAME: usize = 8;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EntryKind {
    /// Lines of a session.
    Lines = 1,
    /// Spans and events of one export.
    Spans = 2,
    /// Findings of everything up to a number were written.
    Committed = 3,
    /// The session is over.
    Closed = 4,
    /// How far something was read or evaluated.
    Mark = 5,
}

impl EntryKind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Lines, Self::Spans, Self::Committed, Self::Closed, Self::Mark]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
struct EntryPlace {
    segment: u32,
    /// Of the payload.
    offset: u64,
    length: u32,
    number: u64,
    kind: EntryKind,
}

/// The entries of an open session.
#[derive(Debug, Default)]
struct StoredSession {
    entries: Vec<EntryPlace>,
    bytes: u64,
}

/// The log.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    /// Only one process has a folder.
    _lock: File,
    segments: BTreeMap<u32, Segment>,
    sessions: HashMap<String, StoredSession>,
    marks: HashMap<String, Vec<u8>>,
    /// What is to be written to the last segment.
    unwritten: Vec<u8>,
    next_number: u64,
    committed: u64,
}

#[derive(Debug)]
struct Segment {
    file: File,
    bytes: u64,
    live: u64,
}

/// An entry that is read back.
#[derive(Debug)]
pub(crate) struct StoredEntry {
    pub(crate) number: u64,
    pub(crate) payload: Vec<u8>,
}

impl Spool {
    /// Opens the log in a folder, which is made if it is not there. What was cut off in the middle is left out.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join("lock"))?;
        lock.try_lock().map_err(|_| {
            io::Error::new(io::ErrorKind::ResourceBusy, "another `sortie watch` has this folder")
        })?;
        let mut spool = Self {
            folder: folder.to_owned(),
            _lock: lock,
            segments: BTreeMap::new(),
            sessions: HashMap::new(),
            marks: HashMap::new(),
            unwritten: Vec::new(),
            next_number: 1,
            committed: 0,
        };
        let mut numbers: Vec<u32> = fs::read_dir(folder)?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".spool")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        for number in &numbers {
            spool.load(*number)?;
        }
        spool.begin_segment(numbers.last().map_or(1, |last| last + 1))?;
        spool.flush()?;
        spool.remove_dead();
        Ok(spool)
    }

    fn path(&self, segment: u32) -> PathBuf {
        self.folder.join(format!("{segment:08}.spool"))
    }

    fn load(&mut self, segment: u32) -> io::Result<()> {
        let path = self.path(segment);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let mut reader = BufReader::with_capacity(1 << 20, file.try_clone()?);
        let (mut at, mut live) = (0u64, 0u64);
        let mut body = Vec::new();
        loop {
            let mut frame = [0; FRAME];
            if reader.read_exact(&mut frame).is_err() {
                break;
            }
            let length = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
            let sum = u32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
            if length > MAX_ENTRY {
                break;
            }
            body.resize(length, 0);
            if reader.read_exact(&mut body).is_err() || crc32fast::hash(&body) != sum {
                break;
            }
            let Some((kind, number, key, payload)) = parse(&body) else { break };
            let offset = at + (FRAME + body.len() - payload.len()) as u64;
            at += (FRAME + length) as u64;
            self.next_number = self.next_number.max(number + 1);
            match kind {
                EntryKind::Lines | EntryKind::Spans => {
                    let session = self.sessions.entry(key.to_owned()).or_default();
                    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
                    session.entries.push(EntryPlace { segment, offset, length, number, kind });
                    session.bytes += payload.len() as u64;
                    live += payload.len() as u64;
                }
                EntryKind::Committed => self.committed = self.committed.max(number),
                EntryKind::Closed => {
                    if let Some(session) = self.sessions.get_mut(key) {
                        let dead: Vec<_> =
                            session.entries.extract_if(.., |entry| entry.number <= number).collect();
                        for entry in &dead {
                            session.bytes -= u64::from(entry.length);
                            if entry.segment == segment {
                                live -= u64::from(entry.length);
                            } else if let Some(other) = self.segments.get_mut(&entry.segment) {
                                other.live -= u64::from(entry.length);
                            }
                        }
                        if session.entries.is_empty() {
                            self.sessions.remove(key);
                        }
                    }
                    self.marks.remove(key);
                }
                EntryKind::Mark => {
                    self.marks.insert(key.to_owned(), payload.to_vec());
                }
            }
        }
        for session in self.sessions.values_mut() {
            let is_sorted = session.entries.is_sorted_by(|one, other| one.number < other.number);
            if is_sorted {
                continue;
            }
            session.entries.sort_by_key(|entry| entry.number);
            let StoredSession { entries, bytes } = session;
            // An entry that was copied, and whose segment could not be removed any more.
            entries.dedup_by(|copy, first| {
                let is_copy = copy.number == first.number;
                if is_copy {
                    *bytes -= u64::from(copy.length);
                    if copy.segment == segment {
                        live -= u64::from(copy.length);
                    } else if let Some(other) = self.segments.get_mut(&copy.segment) {
                        other.live -= u64::from(copy.length);
                    }
                }
                is_copy
            });
        }
        self.segments.insert(segment, Segment { file, bytes: at, live });
        Ok(())
    }

    /// Begins a segment with everything that is true now, so that earlier ones are needed for their messages only.
    fn begin_segment(&mut self, number: u32) -> io::Result<()> {
        let path = self.path(number);
        let file = OpenOptions::new().create_new(true).read(true).append(true).open(path)?;
        self.segments.insert(number, Segment { file, bytes: 0, live: 0 });
        frame(&mut self.unwritten, EntryKind::Committed, self.committed, "", &[]);
        for (key, mark) in &self.marks {
            frame(&mut self.unwritten, EntryKind::Mark, 0, key, mark);
        }
        Ok(())
    }

    /// Adds an entry, and returns its number. It is written by [`flush`](Self::flush).
    pub(crate) fn append(&mut self, kind: EntryKind, key: &str, payload: &[u8]) -> io::Result<u64> {
        let number = self.next_number;
        self.next_number += 1;
        self.put(kind, number, key, payload)?;
        Ok(number)
    }

    fn put(&mut self, kind: EntryKind, number: u64, key: &str, payload: &[u8]) -> io::Result<()> {
        let (mut last, segment) = self.last();
        if segment.bytes + self.unwritten.len() as u64 > SEGMENT_BYTES {
            self.flush()?;
            last += 1;
            self.begin_segment(last)?;
            self.remove_dead();
        }
        let begin = self.unwritten.len();
        frame(&mut self.unwritten, kind, number, key, payload);
        let bytes = self.last().1.bytes;
        let offset = bytes + (self.unwritten.len() - payload.len()) as u64;
        debug_assert!(self.unwritten.len() > begin);
        let session = self.sessions.entry(key.to_owned()).or_default();
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        session.entries.push(EntryPlace { segment: last, offset, length, number, kind });
        session.bytes += payload.len() as u64;
        self.last().1.live += payload.len() as u64;
        Ok(())
    }

    fn last(&mut self) -> (u32, &mut Segment) {
        // `open` begins one, and the last is never removed.
        let (number, segment) = self.segments.iter_mut().next_back().expect("there is a segment");
        (*number, segment)
    }

    /// Remembers something under a name until it is replaced.
    pub(crate) fn mark(&mut self, key: &str, mark: &[u8]) {
        frame(&mut self.unwritten, EntryKind::Mark, 0, key, mark);
        self.marks.insert(key.to_owned(), mark.to_vec());
    }

    /// What is remembered under a name.
    pub(crate) fn marked(&self, key: &str) -> Option<&[u8]> {
        self.marks.get(key).map(Vec::as_slice)
    }

    /// What is remembered under names that begin so, by the rest of them.
    pub(crate) fn marks_of(&self, prefix: &str) -> impl Iterator<Item = (&str, &[u8])> {
        self.marks.iter().filter_map(move |(key, mark)| Some((key.strip_prefix(prefix)?, mark.as_slice())))
    }

    /// Says that the findings of all entries so far were written.
    pub(crate) fn commit(&mut self) {
        self.committed = self.next_number - 1;
        frame(&mut self.unwritten, EntryKind::Committed, self.committed, "", &[]);
    }

    /// The last entry whose findings were written.
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// Hands everything to the system: a process that is killed loses nothing of it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let unwritten = std::mem::take(&mut self.unwritten);
        let (_, segment) = self.last();
        let written = segment.file.write_all(&unwritten);
        if let Err(error) = written {
            // What was written of it is cut off again, so that the positions that are known stay right.
            let bytes = segment.bytes;
            let _ = segment.file.set_len(bytes);
            self.unwritten = unwritten;
            return Err(error);
        }
        segment.bytes += unwritten.len() as u64;
        self.unwritten = unwritten;
        self.unwritten.clear();
        self.unwritten.shrink_to(1 << 20);
        Ok(())
    }

    /// Hands everything to the disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.last().1.file.sync_data()
    }

    /// The names of open sessions.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (&str, EntryKind)> {
        self.sessions.iter().filter_map(|(key, session)| Some((key.as_str(), session.entries.first()?.kind)))
    }

    /// How much an open session takes.
    #[cfg(test)]
    pub(crate) fn session_bytes(&self, key: &str) -> u64 {
        self.sessions.get(key).map_or(0, |session| session.bytes)
    }

    /// How much the files take.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum::<u64>() + self.unwritten.len() as u64
    }

    /// How much of it is of open sessions.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.live).sum()
    }

    /// The entries of a session, in order.
    pub(crate) fn read(
        &mut self,
        key: &str,
        mut each: impl FnMut(StoredEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        self.flush()?;
        let Some(session) = self.sessions.get(key) else { return Ok(()) };
        for entry in &session.entries {
            let payload = self.payload(entry)?;
            each(StoredEntry { number: entry.number, payload })?;
        }
        Ok(())
    }

    fn payload(&self, entry: &EntryPlace) -> io::Result<Vec<u8>> {
        let mut payload = vec![0; entry.length as usize];
        let segment = self.segments.get(&entry.segment);
        let segment = segment.ok_or_else(|| io::Error::other("a segment of the spool is missing"))?;
        segment.file.read_exact_at(&mut payload, entry.offset)?;
        Ok(payload)
    }

    /// Ends a session.
    pub(crate) fn close(&mut self, key: &str) {
        let number = self.next_number - 1;
        frame(&mut self.unwritten, EntryKind::Closed, number, key, &[]);
        self.marks.remove(key);
        if let Some(session) = self.sessions.remove(key) {
            for entry in session.entries {
                if let Some(segment) = self.segments.get_mut(&entry.segment) {
                    segment.live -= u64::from(entry.length);
                }
            }
        }
        self.remove_dead();
    }

    /// Moves all entries of a session to another.
    pub(crate) fn merge(&mut self, from: &str, into: &str) -> io::Result<()> {
        self.flush()?;
        let Some(session) = self.sessions.get(from) else { return Ok(()) };
        let mut moved = Vec::with_capacity(session.entries.len());
        for entry in &session.entries {
            moved.push((entry.kind, entry.number, self.payload(entry)?));
        }
        for (kind, number, payload) in moved {
            self.put(kind, number, into, &payload)?;
        }
        if let Some(session) = self.sessions.get_mut(into) {
            session.entries.sort_by_key(|entry| entry.number);
        }
        self.close(from);
        Ok(())
    }

    fn remove_dead(&mut self) {
        let (last, _) = self.last();
        let dead: Vec<u32> = self
            .segments
            .iter()
            .filter(|(number, segment)| **number != last && segment.live == 0)
            .map(|(number, _)| *number)
            .collect();
        if dead.is_empty() || self.flush().is_err() {
            return;
        }
        for number in dead {
            self.segments.remove(&number);
            let _ = fs::remove_file(self.path(number));
        }
    }

    /// Copies what the oldest segment keeps alive, and removes it. Says whether that made room.
    pub(crate) fn compact(&mut self) -> io::Result<bool> {
        self.flush()?;
        let (last, _) = self.last();
        let Some((&oldest, segment)) = self.segments.iter().next() else { return Ok(false) };
        if oldest == last || segment.live * 2 > segment.bytes {
            return Ok(false);
        }
        let mut moved = Vec::new();
        for (key, session) in &self.sessions {
            for (at, entry) in session.entries.iter().enumerate() {
                if entry.segment == oldest {
                    moved.push((key.clone(), at, *entry));
                }
            }
        }
        for (key, at, entry) in moved {
            let payload = self.payload(&entry)?;
            let (mut last, segment) = self.last();
            if segment.bytes + self.unwritten.len() as u64 > SEGMENT_BYTES {
                self.flush()?;
                last += 1;
                self.begin_segment(last)?;
            }
            frame(&mut self.unwritten, entry.kind, entry.number, &key, &payload);
            let bytes = self.last().1.bytes;
            let offset = bytes + (self.unwritten.len() - payload.len()) as u64;
            self.last().1.live += u64::from(entry.length);
            if let Some(session) = self.sessions.get_mut(&key) {
                session.entries[at] = EntryPlace { segment: last, offset, ..entry };
            }
        }
        self.sync()?;
        self.segments.remove(&oldest);
        let _ = fs::remove_file(self.path(oldest));
        Ok(true)
    }
}

fn frame(out: &mut Vec<u8>, kind: EntryKind, number: u64, key: &str, payload: &[u8]) {
    let begin = out.len();
    out.extend_from_slice(&[0; FRAME]);
    out.push(kind as u8);
    out.extend_from_slice(&number.to_le_bytes());
    // Keys are cut where they are made: 1,024 bytes.
    let key = &key.as_bytes()[..key.len().min(usize::from(u16::MAX))];
    out.extend_from_slice(&u16::try_from(key.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(payload);
    let body = begin + FRAME;
    let length = u32::try_from(out.len() - body).unwrap_or(u32::MAX).to_le_bytes();
    let sum = crc32fast::hash(&out[body..]).to_le_bytes();
    out[begin..begin + 4].copy_from_slice(&length);
    out[begin + 4..body].copy_from_slice(&sum);
}

fn parse(body: &[u8]) -> Option<(EntryKind, u64, &str, &[u8])> {
    let (kind, rest) = body.split_first()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (key, payload) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let number = u64::from_le_bytes(*number);
    Some((EntryKind::from_byte(*kind)?, number, std::str::from_utf8(key).ok()?, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(spool: &mut Spool, key: &str) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        spool
            .read(key, |entry| {
                all.push((entry.number, String::from_utf8(entry.payload).unwrap()));
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn what_was_appended_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path()).unwrap();
        spool.append(EntryKind::Lines, "a", b"one").unwrap();
        spool.append(EntryKind::Lines, "b", b"two").unwrap();
        spool.mark("file", b"7");
        spool.commit();
        spool.append(EntryKind::Lines, "a", b"three").unwrap();
        assert_eq!(entries(&mut spool, "a"), [(1, "one".to_owned()), (3, "three".to_owned())]);
        drop(spool);
        let mut spool = Spool::open(folder.path()).unwrap();
        assert_eq!(entries(&mut spool, "a"), [(1, "one".to_owned()), (3, "three".to_owned())]);
        assert_eq!((spool.committed(), spool.marked("file")), (2, Some(&b"7"[..])));
        spool.close("a");
        spool.flush().unwrap();
        drop(spool);
        let mut spool = Spool::open(folder.path()).unwrap();
        assert_eq!(spool.sessions().collect::<Vec<_>>(), [("b", EntryKind::Lines)]);
        assert_eq!(spool.append(EntryKind::Lines, "a", b"again").unwrap(), 4);
    }

    #[test]
    fn an_entry_that_was_cut_off_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path()).unwrap();
        spool.append(EntryKind::Lines, "a", b"one").unwrap();
        spool.append(EntryKind::Lines, "a", b"two").unwrap();
        spool.flush().unwrap();
        drop(spool);
        let file = folder.path().join("00000001.spool");
        let length = fs::metadata(&file).unwrap().len();
        OpenOptions::new().write(true).open(&file).unwrap().set_len(length - 1).unwrap();
        let mut spool = Spool::open(folder.path()).unwrap();
        assert_eq!(entries(&mut spool, "a"), [(1, "one".to_owned())]);
    }

    #[test]
    fn a_long_session_does_not_keep_old_segments() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path()).unwrap();
        spool.append(EntryKind::Lines, "long", b"begin").unwrap();
        let message = vec![b'x'; 1 << 20];
        for number in 0..60 {
            let key = number.to_string();
            spool.append(EntryKind::Lines, &key, &message).unwrap();
            spool.close(&key);
        }
        spool.append(EntryKind::Lines, "long", b"end").unwrap();
        assert!(spool.bytes() > SEGMENT_BYTES + (1 << 20));
        assert!(spool.compact().unwrap());
        assert!(spool.bytes() <= 2 * SEGMENT_BYTES, "{}", spool.bytes());
        assert_eq!((spool.session_bytes("long"), spool.live_bytes()), (8, 8));
        drop(spool);
        let mut spool = Spool::open(folder.path()).unwrap();
        let long: Vec<String> = entries(&mut spool, "long").into_iter().map(|(_, text)| text).collect();
        assert_eq!(long, ["begin", "end"]);
    }

    #[test]
    fn sessions_that_turn_out_to_be_one_are_merged_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path()).unwrap();
        for (key, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")] {
            spool.append(EntryKind::Spans, key, text.as_bytes()).unwrap();
        }
        spool.merge("b", "a").unwrap();
        for _ in 0..2 {
            let texts: Vec<String> = entries(&mut spool, "a").into_iter().map(|(_, text)| text).collect();
            assert_eq!(texts, ["1", "2", "3", "4"]);
            spool.flush().unwrap();
            drop(spool);
            spool = Spool::open(folder.path()).unwrap();
        }
    }

    #[test]
    fn two_processes_cannot_have_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let _spool = Spool::open(folder.path()).unwrap();
        assert_eq!(Spool::open(folder.path()).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    }
}

//! The lines of one file, where each is, and how one is added.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use super::difference::{Near, difference};
use super::file::{ExchangeOutcome, FORMAT_VERSION, Header, Line};
use super::key::{Digest, Key};
use super::store::{Bounds, ExchangeError};

/// How many recorded requests a miss is compared with.
const COMPARED: usize = 64;

/// How many ordinals of a request a miss looks for.
const ORDINALS: u32 = 32;

#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    file: File,
    /// Where the last whole line ends.
    pub(super) end: u64,
    places: HashMap<Digest, Place>,
    /// For the sake of misses.
    by_purpose: HashMap<String, Vec<Place>>,
    by_endpoint: HashMap<String, Vec<Place>>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    from: u64,
    length: usize,
}

impl Log {
    /// Reads what is there; if it is to be written, cuts off what is not whole and begins it where it is empty.
    pub(super) fn read(
        path: PathBuf,
        file: File,
        write: bool,
        bounds: &Bounds,
    ) -> Result<Self, ExchangeError> {
        let (places, by_purpose, by_endpoint) = Default::default();
        let mut log = Self { path, file, end: 0, places, by_purpose, by_endpoint };
        log.load(bounds)?;
        if write {
            log.cut().and_then(|()| if log.end == 0 { log.write(Header::line().as_bytes()) } else { Ok(()) })
        } else if log.end == 0 {
            return Err(ExchangeError::Foreign(log.path));
        } else {
            Ok(())
        }
        .map_err(|source| log.failed(source))?;
        Ok(log)
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn find(&mut self, digest: Digest) -> Result<Option<ExchangeOutcome>, ExchangeError> {
        let Some(&place) = self.places.get(&digest) else { return Ok(None) };
        Ok(self.line(place)?.into_outcome())
    }

    /// A second handle, with which to wait for the disk while others read and write.
    pub(super) fn handle(&self) -> Result<File, ExchangeError> {
        self.file.try_clone().map_err(|source| self.failed(source))
    }

    /// Adds a line, whole or not at all. It is not on the disk yet.
    pub(super) fn append(
        &mut self,
        bytes: &[u8],
        digest: Digest,
        line: &Line,
        bound: u64,
    ) -> Result<(), ExchangeError> {
        if self.end + bytes.len() as u64 > bound {
            return Err(ExchangeError::Full { path: self.path.clone(), bound });
        }
        let place = Place { from: self.end, length: bytes.len() };
        self.cut().and_then(|()| self.write(bytes)).map_err(|source| self.failed(source))?;
        self.index(digest, line, place);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        match written {
            Ok(()) => self.end += bytes.len() as u64,
            // Half a line must not stand before the next one.
            Err(_) => self.file.set_len(self.end)?,
        }
        written
    }

    /// Cuts off what stands behind the last whole line.
    fn cut(&self) -> io::Result<()> {
        if self.file.metadata()?.len() > self.end { self.file.set_len(self.end) } else { Ok(()) }
    }

    fn load(&mut self, bounds: &Bounds) -> Result<(), ExchangeError> {
        let file = self.file.try_clone().map_err(|source| self.failed(source))?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            let most = bounds.exchange_bytes as u64 + 1;
            let length = reader
                .by_ref()
                .take(most)
                .read_until(b'\n', &mut bytes)
                .map_err(|source| self.failed(source))?;
            if bytes.last() != Some(&b'\n') {
                // The end, or what a crash left of a line. A line that does not end within the bound is neither.
                let damaged = length as u64 == most;
                return if damaged { Err(self.damaged(number)) } else { Ok(()) };
            }
            if number == 1 {
                match Header::version(&bytes) {
                    None => return Err(ExchangeError::Foreign(self.path.clone())),
                    Some(FORMAT_VERSION) => {}
                    Some(version) => return Err(ExchangeError::Version { path: self.path.clone(), version }),
                }
            } else {
                let line = Line::read(&bytes).ok_or_else(|| self.damaged(number))?;
                // Not taken from the file: a key is what the request says, not what a line claims.
                let key = Key::new(&line.endpoint, &line.request.json, line.ordinal);
                self.index(key.digest(), &line, Place { from: self.end, length });
            }
            self.end += length as u64;
        }
        Ok(())
    }

    fn index(&mut self, digest: Digest, line: &Line, place: Place) {
        self.places.insert(digest, place);
        self.by_purpose.entry(line.purpose.clone()).or_default().push(place);
        self.by_endpoint.entry(line.endpoint.clone()).or_default().push(place);
    }

    fn line(&mut self, place: Place) -> Result<Line, ExchangeError> {
        let mut bytes = vec![0; place.length];
        let read = self.file.seek(SeekFrom::Start(place.from)).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|source| self.failed(source))?;
        // It was read when the file was opened, or written by us; since then someone else wrote.
        Line::read(&bytes).ok_or_else(|| self.damaged(0))
    }

    /// What was recorded that is nearest to a key which was not.
    pub(super) fn near(&mut self, key: &Key, purpose: &str) -> Result<Near, ExchangeError> {
        if self.places.is_empty() {
            return Ok(Near::Empty);
        }
        let at_ordinal = |ordinal| Key { ordinal, ..key.clone() }.digest();
        let ordinals: Vec<_> =
            (0..ORDINALS).filter(|&ordinal| self.places.contains_key(&at_ordinal(ordinal))).collect();
        if !ordinals.is_empty() {
            return Ok(Near::OtherOrdinals(ordinals));
        }
        let Some(of_endpoint) = self.by_endpoint.get(&key.endpoint) else {
            let others: BTreeSet<_> = self.by_endpoint.keys().take(8).cloned().collect();
            return Ok(Near::OtherEndpoints(others.into_iter().collect()));
        };
        let last = |places: &[Place]| places.iter().rev().take(COMPARED).copied().collect::<Vec<_>>();
        let for_purpose = self.by_purpose.get(purpose).map(|places| last(places)).unwrap_or_default();
        let of_endpoint = last(of_endpoint);
        let near = self
            .nearest(&for_purpose, key)?
            .map_or_else(|| self.nearest(&of_endpoint, key), |near| Ok(Some(near)))?;
        Ok(near.unwrap_or(Near::Empty))
    }

    fn nearest(&mut self, candidates: &[Place], key: &Key) -> Result<Option<Near>, ExchangeError> {
        let mut best = None;
        for &place in candidates {
            let line = self.line(place)?;
            if line.endpoint != key.endpoint {
                continue;
            }
            let Some(found) = difference(&line.request.json, &key.request) else { continue };
            if best.as_ref().is_none_or(|(shared, _)| found.shared > *shared) {
                let (at, recorded, asked) = (found.at, found.recorded, found.asked);
                let near = Near::Request { purpose: line.purpose, at, recorded, asked };
                best = Some((found.shared, near));
            }
        }
        Ok(best.map(|(_, near)| near))
    }

    fn failed(&self, source: io::Error) -> ExchangeError {
        ExchangeError::Io { path: self.path.clone(), source }
    }

    fn damaged(&self, line: usize) -> ExchangeError {
        ExchangeError::Damaged { path: self.path.clone(), line }
    }
}

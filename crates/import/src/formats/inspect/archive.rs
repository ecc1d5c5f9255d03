//! The entries of a `.eval` file: a ZIP archive with zstd, which is method 93, deflate, or neither.
//!
//! Read by hand: of what a ZIP reader does, the directory and three methods are needed, and every size that an archive
//! states is a claim. An entry is decompressed up to a bound, its declared size is only compared, and entries that share
//! bytes are refused: they are how a small archive stands for an endless one.

use std::io::{BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use sortie_recording::format::ImportError;
use sortie_recording::input::{Frames, InputLimits};

/// Whatever an archive is read from.
pub(super) trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// What archives begin with; those that are empty do not count.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

/// How many entries are taken.
const ENTRIES: u64 = 1 << 18;
/// The end of the directory, and the comment that may follow.
const TAIL: u64 = 22 + 65_535;

pub(super) struct Archive<'a> {
    file: &'a str,
    source: Box<dyn Source + 'a>,
    limits: InputLimits,
    /// How much may still be decompressed.
    left: u64,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    method: u16,
    is_encrypted: bool,
    offset: u64,
    packed: u64,
    size: u64,
    crc: u32,
}

impl<'a> Archive<'a> {
    pub(super) fn open(
        file: &'a str,
        source: impl Source + 'a,
        limits: InputLimits,
    ) -> Result<Self, ImportError> {
        let mut archive =
            Self { file, source: Box::new(source), limits, left: limits.file, entries: Vec::new() };
        archive.entries = archive.directory()?;
        Ok(archive)
    }

    fn directory(&mut self) -> Result<Vec<Entry>, ImportError> {
        let length = self.source.seek(SeekFrom::End(0)).map_err(|source| self.io(source))?;
        let start = length.saturating_sub(TAIL);
        let tail = self.bytes(start, length - start)?;
        let end = tail.windows(4).rposition(|four| four == b"PK\x05\x06");
        let end = end.filter(|end| tail.len() - end >= 22);
        let end = end.ok_or_else(|| self.invalid("the archive is cut off: it has no directory"))?;
        let record = Record(&tail[end..]);
        let (mut count, mut size, mut offset) =
            (u64::from(record.short(10)), u64::from(record.long(12)), u64::from(record.long(16)));
        if count == 0xffff || size == 0xffff_ffff || offset == 0xffff_ffff {
            let locator = end.checked_sub(20).map(|at| Record(&tail[at..end]));
            let locator = locator.filter(|record| record.0.starts_with(b"PK\x06\x07"));
            if let Some(locator) = locator {
                let wide = self.bytes(locator.double(8), 56)?;
                let wide = Record(&wide);
                (count, size, offset) = (wide.double(32), wide.double(40), wide.double(48));
            }
        }
        if count > ENTRIES || size > self.limits.whole as u64 {
            return Err(self.too_large("its directory is too large", self.limits.whole as u64));
        }
        let directory = self.bytes(offset, size)?;
        let mut rest = &directory[..];
        let mut entries = Vec::new();
        for _ in 0..count {
            let (entry, length) =
                entry(rest).ok_or_else(|| self.invalid("the directory of the archive is damaged"))?;
            rest = &rest[length..];
            entries.push(entry);
        }
        let mut spans: Vec<_> = entries.iter().map(|entry| (entry.offset, entry.packed)).collect();
        spans.sort_unstable();
        let overlap =
            spans.windows(2).any(|two| two[0].0.saturating_add(30).saturating_add(two[0].1) > two[1].0);
        if overlap {
            return Err(self.invalid("entries of the archive share their bytes"));
        }
        Ok(entries)
    }

    /// The content of an entry, of no more than so many bytes.
    pub(super) fn read(&mut self, index: usize, limit: usize) -> Result<Vec<u8>, ImportError> {
        let &Entry { method, is_encrypted, offset, packed, size, crc, .. } = &self.entries[index];
        let name = self.entries[index].name.clone();
        if is_encrypted {
            return Err(self.invalid(&format!("`{name}` is encrypted")));
        }
        let local = self.bytes(offset, 30)?;
        if !local.starts_with(MAGIC) {
            return Err(self.invalid(&format!("`{name}` is not where the directory says")));
        }
        let local = Record(&local);
        let skip = i64::from(local.short(26)) + i64::from(local.short(28));
        self.source.seek(SeekFrom::Current(skip)).map_err(|source| self.io(source))?;
        let limit = limit.min(self.limits.whole).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let raw = BufReader::with_capacity(64 * 1024, self.source.by_ref().take(packed));
        let mut reader: Box<dyn Read + '_> = match method {
            0 => Box::new(raw),
            8 => Box::new(DeflateDecoder::new(raw)),
            93 => Box::new(Frames::new(raw)),
            _ => {
                return Err(
                    self.invalid(&format!("`{name}` is compressed with method {method}, which is not read"))
                );
            }
        };
        let mut bytes = Vec::new();
        let read = reader.by_ref().take(limit as u64 + 1).read_to_end(&mut bytes);
        drop(reader);
        if let Err(error) = read {
            return Err(self.invalid(&format!("`{name}` is damaged: {error}")));
        }
        if bytes.len() > limit {
            return Err(self.too_large(&format!("`{name}` is too large"), limit as u64));
        }
        let mut sum = Crc::new();
        sum.update(&bytes);
        if bytes.len() as u64 != size || sum.sum() != crc {
            return Err(self.invalid(&format!("`{name}` is damaged: it is not what the directory says")));
        }
        self.left -= bytes.len() as u64;
        Ok(bytes)
    }

    fn bytes(&mut self, at: u64, count: u64) -> Result<Vec<u8>, ImportError> {
        self.source.seek(SeekFrom::Start(at)).map_err(|source| self.io(source))?;
        let mut bytes = Vec::new();
        let read = self.source.by_ref().take(count).read_to_end(&mut bytes);
        read.map_err(|source| self.io(source))?;
        if bytes.len() as u64 != count {
            return Err(self.invalid("the archive is cut off"));
        }
        Ok(bytes)
    }

    fn io(&self, source: std::io::Error) -> ImportError {
        ImportError::Io { file: self.file.to_owned(), source }
    }

    pub(super) fn invalid(&self, message: &str) -> ImportError {
        ImportError::Invalid { file: self.file.to_owned(), line: 0, message: message.to_owned() }
    }

    fn too_large(&self, what: &str, limit: u64) -> ImportError {
        ImportError::TooLarge { file: self.file.to_owned(), what: what.to_owned(), limit }
    }
}

/// An entry of the directory, and how long it is there.
fn entry(bytes: &[u8]) -> Option<(Entry, usize)> {
    let record = Record(bytes.get(..46)?);
    if !record.0.starts_with(b"PK\x01\x02") {
        return None;
    }
    let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(record.short(at)));
    let length = 46 + name + extra + comment;
    let all = bytes.get(..length)?;
    let mut entry = Entry {
        name: String::from_utf8_lossy(&all[46..46 + name]).into(),
        method: record.short(10),
        is_encrypted: record.short(8) & 1 == 1,
        offset: u64::from(record.long(42)),
        packed: u64::from(record.long(20)),
        size: u64::from(record.long(24)),
        crc: record.long(16),
    };
    // Sizes that do not fit stand in a field of their own, in this order.
    let mut fields = &all[46 + name..46 + name + extra];
    while let [a, b, c, d, rest @ ..] = fields {
        let (field, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([*c, *d])))?;
        if u16::from_le_bytes([*a, *b]) == 1 {
            let mut numbers = field.chunks_exact(8).map(|number| Record(number).double(0));
            for value in [&mut entry.size, &mut entry.packed, &mut entry.offset] {
                if *value == 0xffff_ffff {
                    *value = numbers.next()?;
                }
            }
        }
        fields = rest;
    }
    Some((entry, length))
}

/// Numbers as ZIP writes them. What is not there is zero.
struct Record<'r>(&'r [u8]);

impl Record<'_> {
    fn number<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.number(at))
    }

    fn long(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.number(at))
    }

    fn double(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.number(at))
    }
}

//! The pages of a column, one after the other.

use std::io::{Read, Seek};

use super::levels::HybridReader;
use super::metadata::{ColumnChunk, PageHeader, page_header};
use super::schema::{Column, Physical};
use super::values::{Dictionary, Encoded};
use super::{ParquetError, Source};
use crate::input::Frames;

/// What is looked at for the header of a page at first, and at most: it may hold the smallest and the largest value.
const HEADER: usize = 4 * 1024;
const LARGEST_HEADER: usize = 1024 * 1024;

/// What pages take that are held.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    held: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, held: 0 }
    }

    /// Takes back what was held, and holds something else.
    fn replace(&mut self, before: usize, now: usize) -> Result<(), ParquetError> {
        self.held = self.held.saturating_sub(before).saturating_add(now);
        if self.held > self.limit {
            return Err(self.too_large());
        }
        Ok(())
    }

    fn too_large(&self) -> ParquetError {
        ParquetError::TooLarge { what: "its pages take too much at a time", limit: self.limit as u64 }
    }
}

/// Reads the values of a column within a row group.
#[derive(Debug)]
pub(super) struct ColumnReader {
    column: Column,
    codec: i64,
    at: u64,
    end: u64,
    /// Values of pages that were not read yet.
    left: u64,
    dictionary: Option<Dictionary>,
    page: Option<Page>,
    held: usize,
}

#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    repetition: HybridReader,
    definition: HybridReader,
    values: Encoded,
    left: u64,
    /// The levels of the next value, when somebody has looked at them.
    peeked: Option<Levels>,
}

/// The levels of a value: what it repeats, and how much of what it is in is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) repetition: u32,
    pub(super) definition: u32,
}

impl ColumnReader {
    pub(super) fn new(column: Column, chunk: ColumnChunk) -> Result<Self, ParquetError> {
        let end = chunk.start.checked_add(chunk.length);
        let end = end.ok_or(ParquetError::Damaged("it points behind its end"))?;
        Ok(Self {
            column,
            codec: chunk.codec,
            at: chunk.start,
            end,
            left: chunk.values,
            dictionary: None,
            page: None,
            held: 0,
        })
    }

    /// Gives back what it holds.
    pub(super) fn release(self, budget: &mut Budget) {
        budget.held = budget.held.saturating_sub(self.held);
    }

    /// The levels of the next value; `None` when there is none.
    pub(super) fn peek<S: Read + Seek>(
        &mut self,
        source: &mut Source<S>,
        budget: &mut Budget,
    ) -> Result<Option<Levels>, ParquetError> {
        while self.page.as_ref().is_none_or(|page| page.left == 0) {
            if self.left == 0 {
                return Ok(None);
            }
            self.next_page(source, budget)?;
        }
        let Some(page) = &mut self.page else { return Ok(None) };
        if page.peeked.is_none() {
            let repetition = page.repetition.next(&page.bytes)?;
            let definition = page.definition.next(&page.bytes)?;
            if repetition > self.column.repetition || definition > self.column.definition {
                return Err(ParquetError::Damaged("a level that its column does not have"));
            }
            page.peeked = Some(Levels { repetition, definition });
        }
        Ok(page.peeked)
    }

    /// Takes the next value, which was looked at: its bytes, where it is there.
    pub(super) fn take(&mut self) -> Result<Option<&[u8]>, ParquetError> {
        let page = self.page.as_mut().filter(|page| page.left > 0);
        let page = page.ok_or(ParquetError::Damaged("a column that ends before the others"))?;
        let levels = page.peeked.take().ok_or(ParquetError::Damaged("a value without its levels"))?;
        page.left -= 1;
        if levels.definition < self.column.definition {
            return Ok(None);
        }
        page.values.next(&page.bytes, self.dictionary.as_ref(), self.column.physical).map(Some)
    }

    fn next_page<S: Read + Seek>(
        &mut self,
        source: &mut Source<S>,
        budget: &mut Budget,
    ) -> Result<(), ParquetError> {
        let (header, length) = self.header(source)?;
        let start = self.at + length as u64;
        let end = start.checked_add(header.compressed).filter(|end| *end <= self.end);
        self.at = end.ok_or(ParquetError::Damaged("a page that is larger than its column"))?;
        if header.size > budget.limit as u64 || header.compressed > budget.limit as u64 {
            return Err(budget.too_large());
        }
        let compressed = usize::try_from(header.compressed).unwrap_or(budget.limit);
        match header.kind {
            0 | 3 => {
                let bytes = source.read(start, compressed)?;
                let page = self.data_page(header, &bytes)?;
                let held = page.bytes.len() + self.dictionary.as_ref().map_or(0, Dictionary::size);
                budget.replace(self.held, held)?;
                self.held = held;
                self.left = self
                    .left
                    .checked_sub(header.values)
                    .ok_or(ParquetError::Damaged("a column whose pages have more values than it"))?;
                self.page = Some(page);
            }
            2 => {
                // Each of its values is remembered, however little it takes.
                if header.size > budget.limit as u64 / 8 || self.column.physical == Physical::Boolean {
                    return Err(budget.too_large());
                }
                let bytes = decompressed(self.codec, &source.read(start, compressed)?, header.size)?;
                let dictionary = Dictionary::new(bytes, header.values, self.column.physical)?;
                budget.replace(self.held, dictionary.size())?;
                self.held = dictionary.size();
                self.dictionary = Some(dictionary);
            }
            // Indexes say nothing that the pages do not say.
            _ => {}
        }
        Ok(())
    }

    fn header<S: Read + Seek>(&self, source: &mut Source<S>) -> Result<(PageHeader, usize), ParquetError> {
        let room =
            usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(LARGEST_HEADER);
        if room == 0 {
            return Err(ParquetError::Damaged("a column whose pages have fewer values than it"));
        }
        let bytes = source.read(self.at, room.min(HEADER))?;
        match page_header(&bytes) {
            Err(_) if room > HEADER => page_header(&source.read(self.at, room)?),
            header => header,
        }
    }

    fn data_page(&self, header: PageHeader, bytes: &[u8]) -> Result<Page, ParquetError> {
        let (repetition, definition) = (self.column.repetition, self.column.definition);
        let width = |level: u32| u32::BITS - level.leading_zeros();
        let (bytes, levels, start) = if header.kind == 3 {
            let lengths = [header.repetition_length, header.definition_length];
            let [first, second] = lengths.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
            let end = first.checked_add(second).filter(|end| *end <= bytes.len());
            let end = end.ok_or(ParquetError::Damaged("levels that are larger than their page"))?;
            let codec = if header.is_compressed { self.codec } else { 0 };
            let rest = header.size.checked_sub(end as u64);
            let rest = rest.ok_or(ParquetError::Damaged("levels that are larger than their page"))?;
            let mut whole = bytes[..end].to_vec();
            whole.extend(decompressed(codec, &bytes[end..], rest)?);
            (whole, [0..first, first..end], end)
        } else {
            let bytes = decompressed(self.codec, bytes, header.size)?;
            let mut at = 0;
            let mut levels = || -> Result<_, ParquetError> {
                let head = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
                let head = head.ok_or(ParquetError::Damaged("a page without its levels"))?;
                let start = at + 4;
                let end = start.checked_add(u32::from_le_bytes(*head) as usize);
                at = end
                    .filter(|end| *end <= bytes.len())
                    .ok_or(ParquetError::Damaged("levels that are larger than their page"))?;
                Ok(start..at)
            };
            let first = if repetition > 0 { levels()? } else { 0..0 };
            let second = if definition > 0 { levels()? } else { 0..0 };
            (bytes, [first, second], at)
        };
        let [first, second] = levels;
        Ok(Page {
            repetition: HybridReader::new(first, width(repetition))?,
            definition: HybridReader::new(second, width(definition))?,
            values: self.encoded(header.encoding, &bytes, start)?,
            bytes,
            left: header.values,
            peeked: None,
        })
    }

    /// How the values are written that begin at a byte of a page.
    fn encoded(&self, encoding: i64, bytes: &[u8], start: usize) -> Result<Encoded, ParquetError> {
        let is_boolean = self.column.physical == Physical::Boolean;
        Ok(match encoding {
            0 if is_boolean => Encoded::Bits(start * 8),
            0 => Encoded::Plain(start),
            // A page in which nothing is there has no width either.
            2 | 8 => match bytes.get(start) {
                Some(width) => Encoded::Places(HybridReader::new(start + 1..bytes.len(), u32::from(*width))?),
                None => Encoded::Places(HybridReader::default()),
            },
            3 if is_boolean => {
                Encoded::Runs(HybridReader::new((start + 4).min(bytes.len())..bytes.len(), 1)?)
            }
            other => {
                let name = [
                    "",
                    "",
                    "",
                    "RLE",
                    "BIT_PACKED",
                    "DELTA_BINARY_PACKED",
                    "DELTA_LENGTH_BYTE_ARRAY",
                    "DELTA_BYTE_ARRAY",
                    "",
                    "BYTE_STREAM_SPLIT",
                ];
                let name = usize::try_from(other).ok().and_then(|at| name.get(at)).unwrap_or(&"");
                return Err(ParquetError::Unsupported(format!("the encoding {other} {name}")));
            }
        })
    }
}

/// The bytes of a page, of which there have to be so many.
fn decompressed(codec: i64, bytes: &[u8], size: u64) -> Result<Vec<u8>, ParquetError> {
    let wrong = ParquetError::Damaged("a page that is not as large as it says");
    let size = usize::try_from(size).map_err(|_| ParquetError::Damaged("a page without an end"))?;
    let through = |reader: &mut dyn Read| -> Result<Vec<u8>, ParquetError> {
        let mut whole = Vec::new();
        reader.take(size as u64 + 1).read_to_end(&mut whole)?;
        Ok(whole)
    };
    let whole = match codec {
        0 => bytes.to_vec(),
        1 => {
            let length = snap::raw::decompress_len(bytes);
            // What it needs is allocated at once.
            if length.is_ok_and(|length| length != size) {
                return Err(wrong);
            }
            let whole = snap::raw::Decoder::new().decompress_vec(bytes);
            whole.map_err(|_| ParquetError::Damaged("a page that does not decompress"))?
        }
        2 => through(&mut flate2::bufread::MultiGzDecoder::new(bytes))?,
        6 => through(&mut Frames::new(bytes))?,
        other => {
            let name = ["", "", "", "LZO", "BROTLI", "LZ4", "", "LZ4_RAW"];
            let name = usize::try_from(other).ok().and_then(|at| name.get(at)).unwrap_or(&"");
            return Err(ParquetError::Unsupported(format!("the compression {other} {name}")));
        }
    };
    if whole.len() == size { Ok(whole) } else { Err(wrong) }
}

//! A column of a row group as pages: levels, values by dictionary or as they are, bounds.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use super::thrift_writer::{ItemKind, ThriftWriter};

/// How much a dictionary may take, in bytes.
const DICTIONARY: usize = 512 * 1024;
/// The longest value that stands as a bound, in bytes.
const BOUND: usize = 128;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    Text,
    Unsigned,
    /// Microseconds since 1970.
    Time,
}

/// How many values a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellCount {
    One,
    AtMostOne,
    Any,
}

/// A column that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnSpec {
    pub(super) name: &'static str,
    pub(super) kind: CellKind,
    pub(super) count: CellCount,
    /// Whether somebody looks for its values: it has bounds for each page, and short pages.
    pub(super) is_key: bool,
    /// Whether values repeat.
    pub(super) has_dictionary: bool,
}

impl ColumnSpec {
    /// Its names, from the row on.
    pub(super) fn path(&self) -> Vec<&'static str> {
        match self.count {
            CellCount::Any => vec![self.name, "list", "element"],
            _ => vec![self.name],
        }
    }

    /// The physical type, as the format numbers it.
    pub(super) fn physical(&self) -> i32 {
        if self.kind == CellKind::Text { 6 } else { 2 }
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        match self.kind {
            CellKind::Text => left.cmp(right),
            CellKind::Unsigned => number(left).cmp(&number(right)),
            CellKind::Time => number(left).cast_signed().cmp(&number(right).cast_signed()),
        }
    }
}

/// The values of a column in a row group.
#[derive(Debug, Default)]
pub(super) struct Cells<'c> {
    /// For each row, how many values it has. `None` where each has one.
    counts: Option<Vec<usize>>,
    values: Vec<&'c [u8]>,
}

impl<'c> Cells<'c> {
    pub(super) fn one(values: impl Iterator<Item = &'c [u8]>) -> Self {
        Self { counts: None, values: values.collect() }
    }

    pub(super) fn any<I: Iterator<Item = &'c [u8]>>(rows: impl Iterator<Item = I>) -> Self {
        let (mut counts, mut values) = (Vec::new(), Vec::new());
        for row in rows {
            let before = values.len();
            values.extend(row);
            counts.push(values.len() - before);
        }
        Self { counts: Some(counts), values }
    }
}

/// Where a page is within what was written.
#[derive(Debug)]
struct PagePlace {
    at: usize,
    length: usize,
    first_row: usize,
    nulls: u64,
    bounds: Option<(Vec<u8>, Vec<u8>)>,
}

/// The pages of a column, and what the metadata says about them.
#[derive(Debug)]
pub(super) struct WrittenColumn {
    pub(super) bytes: Vec<u8>,
    spec: ColumnSpec,
    pages: Vec<PagePlace>,
    has_dictionary: bool,
    levels: u64,
    nulls: u64,
    uncompressed: u64,
}

impl WrittenColumn {
    /// Writes a column. `ends` are the rows at which pages end.
    pub(super) fn new(spec: ColumnSpec, cells: &Cells<'_>, ends: &[usize]) -> Self {
        let mut column = Self {
            bytes: Vec::new(),
            spec,
            pages: Vec::new(),
            has_dictionary: false,
            levels: 0,
            nulls: 0,
            uncompressed: 0,
        };
        let dictionary = spec.has_dictionary.then(|| Dictionary::of(spec.kind, &cells.values)).flatten();
        if let Some(dictionary) = &dictionary {
            column.has_dictionary = true;
            let count = dictionary.values.len();
            column.page(&dictionary.page(), 2, |head| {
                head.nested(7, |page| {
                    page.int(1, small(count));
                    page.int(2, 0);
                });
            });
        }
        let (mut row, mut value) = (0, 0);
        for end in ends {
            let rows = row..*end;
            let count: usize = match &cells.counts {
                Some(counts) => counts[rows.clone()].iter().sum(),
                None => rows.len(),
            };
            column.data_page(cells, rows, value..value + count, dictionary.as_ref());
            (row, value) = (*end, value + count);
        }
        column
    }

    fn data_page(
        &mut self,
        cells: &Cells<'_>,
        rows: Range<usize>,
        values: Range<usize>,
        dictionary: Option<&Dictionary<'_>>,
    ) {
        let mut body = Vec::new();
        let mut levels = rows.len();
        let mut nulls = 0;
        if let Some(counts) = &cells.counts {
            let counts = &counts[rows.clone()];
            nulls = counts.iter().filter(|count| **count == 0).count();
            levels = values.len() + nulls;
            if self.spec.count == CellCount::Any {
                let repeated = |count: &usize| (0..(*count).max(1)).map(|at| u32::from(at > 0));
                write_levels(counts.iter().flat_map(repeated), &mut body);
            }
            let defined = |count: &usize| std::iter::repeat_n(u32::from(*count > 0), (*count).max(1));
            write_levels(counts.iter().flat_map(defined), &mut body);
        }
        let own = &cells.values[values];
        match dictionary {
            Some(dictionary) => {
                body.push(u8::try_from(dictionary.width()).unwrap_or(32));
                let places: Vec<u32> = own.iter().map(|value| dictionary.places[value]).collect();
                write_hybrid(&places, dictionary.width(), &mut body);
            }
            None => own.iter().for_each(|value| write_plain(self.spec.kind, value, &mut body)),
        }
        let encoding = if dictionary.is_some() { 8 } else { 0 };
        let (at, length) = self.page(&body, 0, |head| {
            head.nested(5, |page| {
                page.int(1, small(levels));
                page.int(2, encoding);
                page.int(3, 3);
                page.int(4, 3);
            });
        });
        self.levels += levels as u64;
        self.nulls += nulls as u64;
        let bounds = self.spec.is_key.then(|| self.bounds(own)).flatten();
        self.pages.push(PagePlace { at, length, first_row: rows.start, nulls: nulls as u64, bounds });
    }

    /// The smallest and the largest value.
    fn bounds(&self, values: &[&[u8]]) -> Option<(Vec<u8>, Vec<u8>)> {
        let least = values.iter().min_by(|left, right| self.spec.compare(left, right));
        let most = values.iter().max_by(|left, right| self.spec.compare(left, right));
        Some((least?.to_vec(), most?.to_vec()))
    }

    /// Writes a page, and says where.
    fn page(&mut self, body: &[u8], kind: i32, about: impl FnOnce(&mut ThriftWriter)) -> (usize, usize) {
        // A page is far below the size that Snappy refuses, which is 4 GiB.
        let packed = snap::raw::Encoder::new().compress_vec(body).unwrap_or_default();
        let head = ThriftWriter::structure(|head| {
            head.int(1, kind);
            head.int(2, small(body.len()));
            head.int(3, small(packed.len()));
            about(head);
        });
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(&packed);
        self.uncompressed += (head.len() + body.len()) as u64;
        (at, self.bytes.len() - at)
    }

    /// The metadata of the column, whose first page is at `start`.
    pub(super) fn write_metadata(&self, start: u64, writer: &mut ThriftWriter) {
        let data = self.pages.first().map_or(0, |page| page.at) as u64;
        writer.int(1, self.spec.physical());
        let encodings: &[i64] = if self.has_dictionary { &[0, 3, 8] } else { &[0, 3] };
        writer.list(2, ItemKind::I32, encodings.len());
        for encoding in encodings {
            writer.number_item(*encoding);
        }
        let path = self.spec.path();
        writer.list(3, ItemKind::Binary, path.len());
        for name in &path {
            writer.binary_item(name.as_bytes());
        }
        writer.int(4, 1);
        writer.long(5, self.levels);
        writer.long(6, self.uncompressed);
        writer.long(7, self.bytes.len() as u64);
        writer.long(9, start + data);
        if self.has_dictionary {
            writer.long(11, start);
        }
        if !self.spec.is_key {
            return;
        }
        let bounds = self.pages.iter().filter_map(|page| page.bounds.as_ref());
        let least = bounds.clone().map(|bounds| &bounds.0).min_by(|a, b| self.spec.compare(a, b));
        let most = bounds.map(|bounds| &bounds.1).max_by(|a, b| self.spec.compare(a, b));
        writer.nested(12, |about| {
            about.long(3, self.nulls);
            if let (Some(least), Some(most)) = (least, most)
                && least.len() <= BOUND
                && most.len() <= BOUND
            {
                about.binary(5, most);
                about.binary(6, least);
            }
        });
    }

    /// Where its pages are, given where the first is.
    pub(super) fn offset_index(&self, start: u64) -> Vec<u8> {
        ThriftWriter::structure(|writer| {
            writer.list(1, ItemKind::Struct, self.pages.len());
            for page in &self.pages {
                writer.item(|place| {
                    place.long(1, start + page.at as u64);
                    place.int(2, small(page.length));
                    place.long(3, page.first_row as u64);
                });
            }
        })
    }

    /// The bounds of its pages, for columns that have them.
    pub(super) fn column_index(&self) -> Option<Vec<u8>> {
        let is_short = |page: &PagePlace| {
            page.bounds.as_ref().is_none_or(|(least, most)| least.len().max(most.len()) <= BOUND)
        };
        if !self.spec.is_key || !self.pages.iter().all(is_short) {
            return None;
        }
        let bounds = |most: bool| {
            self.pages.iter().map(move |page| match &page.bounds {
                Some(bounds) if most => bounds.1.as_slice(),
                Some(bounds) => bounds.0.as_slice(),
                None => &[],
            })
        };
        Some(ThriftWriter::structure(|writer| {
            let nulls: Vec<bool> = self.pages.iter().map(|page| page.bounds.is_none()).collect();
            writer.truths(1, &nulls);
            for (id, most) in [(2, false), (3, true)] {
                writer.list(id, ItemKind::Binary, self.pages.len());
                bounds(most).for_each(|bound| writer.binary_item(bound));
            }
            // Pages are in no order.
            writer.int(4, 0);
            writer.list(5, ItemKind::I64, self.pages.len());
            self.pages.iter().for_each(|page| writer.number_item(page.nulls.cast_signed()));
        }))
    }

    pub(super) fn uncompressed(&self) -> u64 {
        self.uncompressed
    }
}

/// Sizes of pages are below 2 GiB.
fn small(size: usize) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

/// Values, each once.
struct Dictionary<'c> {
    values: Vec<&'c [u8]>,
    places: HashMap<&'c [u8], u32>,
    kind: CellKind,
}

impl<'c> Dictionary<'c> {
    /// `None` where values do not repeat, or take too much.
    fn of(kind: CellKind, values: &[&'c [u8]]) -> Option<Self> {
        let mut dictionary = Self { values: Vec::new(), places: HashMap::new(), kind };
        let mut size = 0;
        for value in values {
            let next = u32::try_from(dictionary.values.len()).ok()?;
            if *dictionary.places.entry(value).or_insert(next) == next {
                dictionary.values.push(value);
                size += value.len() + 4;
                if size > DICTIONARY {
                    return None;
                }
            }
        }
        (dictionary.values.len() * 2 <= values.len()).then_some(dictionary)
    }

    fn width(&self) -> u32 {
        (self.values.len().max(1) - 1).checked_ilog2().map_or(0, |bits| bits + 1)
    }

    fn page(&self) -> Vec<u8> {
        let mut page = Vec::new();
        self.values.iter().for_each(|value| write_plain(self.kind, value, &mut page));
        page
    }
}

fn write_plain(kind: CellKind, value: &[u8], page: &mut Vec<u8>) {
    if kind == CellKind::Text {
        page.extend_from_slice(&small(value.len()).to_le_bytes());
    }
    page.extend_from_slice(value);
}

/// Levels of a page, which are zero or one, and say how long they are.
fn write_levels(levels: impl Iterator<Item = u32>, page: &mut Vec<u8>) {
    let start = page.len();
    page.extend_from_slice(&[0; 4]);
    write_hybrid(&levels.collect::<Vec<_>>(), 1, page);
    let length = small(page.len() - start - 4);
    page[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Numbers of so many bits: the same number many times as a run, others packed in groups of eight.
fn write_hybrid(numbers: &[u32], width: u32, page: &mut Vec<u8>) {
    let mut at = 0;
    while at < numbers.len() {
        let run = numbers[at..].iter().take_while(|number| **number == numbers[at]).count();
        if run >= 8 {
            write_varint((run as u64) << 1, page);
            page.extend_from_slice(&numbers[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            at += run;
            continue;
        }
        // Groups of eight, until a run begins.
        let start = at;
        while at < numbers.len() {
            let next = &numbers[at..];
            if at > start && next.len() >= 8 && next[..8].iter().all(|number| *number == next[0]) {
                break;
            }
            at = (at + 8).min(numbers.len());
        }
        let groups = (at - start).div_ceil(8);
        write_varint((groups as u64) << 1 | 1, page);
        let (mut bits, mut filled) = (0u64, 0);
        let padding = groups * 8 - (at - start);
        for number in numbers[start..at].iter().copied().chain(std::iter::repeat_n(0, padding)) {
            bits |= u64::from(number) << filled;
            filled += width;
            while filled >= 8 {
                page.push(bits.to_le_bytes()[0]);
                bits >>= 8;
                filled -= 8;
            }
        }
    }
}

fn write_varint(mut value: u64, page: &mut Vec<u8>) {
    while value >= 0x80 {
        page.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    page.push(value.to_le_bytes()[0]);
}

//! The footer of a Parquet file, and the headers of its pages.

use std::io::{Read, Seek};

use super::thrift::{Kind, ThriftReader};
use super::traces::LAYOUT;
use super::{MAGIC, ParquetError, ParquetLimits, Source};

/// An element of the schema, which is a tree written from its root on.
#[derive(Debug, Default)]
pub(super) struct SchemaElement {
    pub(super) physical: Option<i64>,
    pub(super) width: i64,
    pub(super) repetition: i64,
    pub(super) name: String,
    pub(super) children: i64,
    pub(super) meaning: Meaning,
}

/// What the values of an element mean, beside their physical type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing more than that.
    #[default]
    Plain,
    Text,
    List,
    Map,
    Unsigned,
    /// So many in a second, since 1970.
    Timestamp(u32),
    /// So many digits after the point.
    Decimal(i64),
}

/// A column within a row group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ColumnChunk {
    pub(super) codec: i64,
    pub(super) values: u64,
    /// Where its first page is, and how much its pages take.
    pub(super) start: u64,
    pub(super) length: u64,
}

#[derive(Debug, Default)]
pub(super) struct RowGroup {
    pub(super) columns: Vec<ColumnChunk>,
    pub(super) rows: u64,
}

#[derive(Debug, Default)]
pub(super) struct Footer {
    pub(super) schema: Vec<SchemaElement>,
    pub(super) groups: Vec<RowGroup>,
    /// Whether a key says that row groups hold whole sessions.
    pub(super) has_whole_sessions: bool,
}

impl Footer {
    /// Reads the footer of a file: `… METADATA LENGTH PAR1`.
    pub(super) fn read<S: Read + Seek>(
        source: &mut Source<S>,
        limits: ParquetLimits,
    ) -> Result<Self, ParquetError> {
        let size = source.size;
        if size < 12 || source.read(0, 4)? != MAGIC {
            return Err(ParquetError::Damaged("it does not begin as a Parquet file"));
        }
        let tail = source.read(size - 8, 8)?;
        if tail[4..] == *b"PARE" {
            return Err(ParquetError::Unsupported("encryption".to_owned()));
        }
        if tail[4..] != *MAGIC {
            return Err(ParquetError::Damaged("its end is missing"));
        }
        let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        if length > limits.footer as u64 {
            return Err(ParquetError::TooLarge {
                what: "its footer is too large",
                limit: limits.footer as u64,
            });
        }
        let start =
            (size - 8).checked_sub(length).ok_or(ParquetError::Damaged("its footer is larger than it"))?;
        let bytes = source.read(start, usize::try_from(length).unwrap_or(limits.footer))?;
        let mut footer = Self::default();
        ThriftReader::new(&bytes).structure(|reader, id, kind| {
            match (id, kind) {
                (2, Kind::List) => {
                    let (length, _) = reader.list()?;
                    for _ in 0..length {
                        footer.schema.push(element(reader)?);
                    }
                }
                (4, Kind::List) => {
                    let (length, _) = reader.list()?;
                    for _ in 0..length {
                        footer.groups.push(row_group(reader)?);
                    }
                }
                (5, Kind::List) => {
                    let (length, _) = reader.list()?;
                    for _ in 0..length {
                        footer.has_whole_sessions |= is_pair(reader, LAYOUT)?;
                    }
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(footer)
    }
}

/// Whether a key and its value are these.
fn is_pair(reader: &mut ThriftReader<'_>, (key, value): (&str, &str)) -> Result<bool, ParquetError> {
    let mut found = (false, false);
    reader.structure(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Binary) => found.0 = reader.binary()? == key.as_bytes(),
            (2, Kind::Binary) => found.1 = reader.binary()? == value.as_bytes(),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(found == (true, true))
}

fn element(reader: &mut ThriftReader<'_>) -> Result<SchemaElement, ParquetError> {
    let mut element = SchemaElement::default();
    let (mut converted, mut logical, mut scale) = (None, None, 0);
    reader.structure(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Integer) => element.physical = Some(reader.integer()?),
            (2, Kind::Integer) => element.width = reader.integer()?,
            (3, Kind::Integer) => element.repetition = reader.integer()?,
            (4, Kind::Binary) => element.name = String::from_utf8_lossy(reader.binary()?).into_owned(),
            (5, Kind::Integer) => element.children = reader.integer()?,
            (6, Kind::Integer) => converted = Some(reader.integer()?),
            (7, Kind::Integer) => scale = reader.integer()?,
            (10, Kind::Struct) => logical = logical_type(reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let of_converted = || match converted? {
        0 | 4 | 19 => Some(Meaning::Text),
        1 | 2 => Some(Meaning::Map),
        3 => Some(Meaning::List),
        5 => Some(Meaning::Decimal(scale)),
        9 => Some(Meaning::Timestamp(1_000)),
        10 => Some(Meaning::Timestamp(1_000_000)),
        11..=14 => Some(Meaning::Unsigned),
        _ => None,
    };
    element.meaning = logical.or_else(of_converted).unwrap_or_default();
    Ok(element)
}

/// The logical type, where it is one that changes how values are written.
fn logical_type(reader: &mut ThriftReader<'_>) -> Result<Option<Meaning>, ParquetError> {
    let mut meaning = None;
    reader.structure(|reader, id, _| {
        meaning = match id {
            1 | 4 | 12 => Some(Meaning::Text),
            2 => Some(Meaning::Map),
            3 => Some(Meaning::List),
            5 => {
                let mut scale = 0;
                reader.structure(|reader, id, kind| {
                    if (id, kind) == (1, Kind::Integer) {
                        scale = reader.integer()?;
                    }
                    Ok((id, kind) == (1, Kind::Integer))
                })?;
                meaning = Some(Meaning::Decimal(scale));
                return Ok(true);
            }
            8 => {
                let mut per_second = 1_000;
                reader.structure(|reader, id, kind| {
                    if (id, kind) != (2, Kind::Struct) {
                        return Ok(false);
                    }
                    reader.structure(|_, unit, _| {
                        per_second = match unit {
                            2 => 1_000_000,
                            3 => 1_000_000_000,
                            _ => 1_000,
                        };
                        Ok(false)
                    })?;
                    Ok(true)
                })?;
                meaning = Some(Meaning::Timestamp(per_second));
                return Ok(true);
            }
            10 => {
                let mut is_signed = true;
                reader.structure(|_, id, kind| {
                    is_signed &= (id, kind) != (2, Kind::False);
                    Ok(false)
                })?;
                meaning = (!is_signed).then_some(Meaning::Unsigned);
                return Ok(true);
            }
            _ => meaning,
        };
        Ok(false)
    })?;
    Ok(meaning)
}

fn row_group(reader: &mut ThriftReader<'_>) -> Result<RowGroup, ParquetError> {
    let mut group = RowGroup::default();
    reader.structure(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::List) => {
                let (length, _) = reader.list()?;
                for _ in 0..length {
                    group.columns.push(column_chunk(reader)?);
                }
            }
            (3, Kind::Integer) => group.rows = reader.size()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(group)
}

fn column_chunk(reader: &mut ThriftReader<'_>) -> Result<ColumnChunk, ParquetError> {
    let mut chunk = ColumnChunk::default();
    let (mut data, mut dictionary, mut elsewhere) = (None, None, false);
    reader.structure(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Binary) => elsewhere |= !reader.binary()?.is_empty(),
            (3, Kind::Struct) => reader.structure(|reader, id, kind| {
                match (id, kind) {
                    (4, Kind::Integer) => chunk.codec = reader.integer()?,
                    (5, Kind::Integer) => chunk.values = reader.size()?,
                    (7, Kind::Integer) => chunk.length = reader.size()?,
                    (9, Kind::Integer) => data = Some(reader.size()?),
                    (11, Kind::Integer) => dictionary = Some(reader.size()?),
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if elsewhere {
        return Err(ParquetError::Unsupported("columns in files of their own".to_owned()));
    }
    let data = data.ok_or(ParquetError::Damaged("a column without pages"))?;
    // Some writers say zero for a dictionary that is not there.
    chunk.start = dictionary.filter(|at| *at > 0).map_or(data, |at| at.min(data));
    Ok(chunk)
}

/// What the header of a page says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageHeader {
    pub(super) kind: i64,
    pub(super) size: u64,
    pub(super) compressed: u64,
    pub(super) values: u64,
    pub(super) encoding: i64,
    /// How long the levels are that stand before the compressed values, in pages of the second version.
    pub(super) definition_length: u64,
    pub(super) repetition_length: u64,
    pub(super) is_compressed: bool,
}

/// The header at the beginning of these bytes, and how long it is.
pub(super) fn page_header(bytes: &[u8]) -> Result<(PageHeader, usize), ParquetError> {
    let mut header = PageHeader { is_compressed: true, ..PageHeader::default() };
    let mut reader = ThriftReader::new(bytes);
    reader.structure(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Integer) => header.kind = reader.integer()?,
            (2, Kind::Integer) => header.size = reader.size()?,
            (3, Kind::Integer) => header.compressed = reader.size()?,
            (5 | 7, Kind::Struct) => reader.structure(|reader, id, kind| {
                match (id, kind) {
                    (1, Kind::Integer) => header.values = reader.size()?,
                    (2, Kind::Integer) => header.encoding = reader.integer()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            (8, Kind::Struct) => reader.structure(|reader, id, kind| {
                match (id, kind) {
                    (1, Kind::Integer) => header.values = reader.size()?,
                    (4, Kind::Integer) => header.encoding = reader.integer()?,
                    (5, Kind::Integer) => header.definition_length = reader.size()?,
                    (6, Kind::Integer) => header.repetition_length = reader.size()?,
                    (7, Kind::False) => header.is_compressed = false,
                    (7, Kind::True) => {}
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((header, reader.position()))
}

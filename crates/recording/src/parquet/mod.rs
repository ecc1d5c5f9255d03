//! Rows of Parquet files as JSON objects, within bounds.
//!
//! Exports of tracing services are Parquet as a database writes it: texts and numbers, lists and maps of them, in plain or dictionary
//! encoding, in pages that are not compressed, or with Snappy, gzip or zstd. That is what is read here; whatever else a file uses is an
//! error that names it. The pages of all columns are read side by side, one of each at a time, so that memory does not grow with
//! the size of a file. Nothing a file says of sizes is believed before it is there.
//!
//! | step | where |
//! |---|---|
//! | the footer: schema, and where columns are | `thrift`, `metadata`, `schema` |
//! | pages of a column: header, compression | `pages` |
//! | levels and values of a page | `levels`, `values` |
//! | rows, put together from all columns | `rows` |
//!
//! Files with traces are also written: `traces` has their layout, `column_writer` the pages of a column, `trace_rows` reads them back session
//! by session. Anybody's reader of Parquet reads them.

mod column_writer;
mod levels;
mod metadata;
mod pages;
mod rows;
mod schema;
mod thrift;
mod thrift_writer;
mod trace_rows;
mod traces;
mod values;

use std::io::{self, Read, Seek, SeekFrom};

pub use rows::ParquetRows;
pub use trace_rows::TraceRows;
pub use traces::{TraceRowError, TraceWriter, WrittenTraces};

use crate::input::InputLimits;

/// How a Parquet file begins and ends.
pub const MAGIC: &[u8; 4] = b"PAR1";

/// Why a Parquet file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not what the format says.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// It uses something of the format that is not read.
    #[error("it uses {0}, which is not read")]
    Unsupported(String),
    /// It takes more than is allowed.
    #[error("{what}; no more than {limit} bytes are read")]
    TooLarge {
        /// What does.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
}

/// How much of a file is read, and held.
#[derive(Clone, Copy, Debug)]
struct ParquetLimits {
    footer: usize,
    /// The pages that are held, of all columns together.
    held: usize,
    row: usize,
    /// All rows together, as JSON.
    rows: u64,
}

impl ParquetLimits {
    /// Rows may take more than the file by a factor that no honest file needs.
    fn new(limits: InputLimits, size: u64) -> Self {
        Self {
            footer: limits.line / 4,
            held: limits.sessions,
            row: limits.line,
            rows: limits.file.min(size.saturating_mul(1000).saturating_add(limits.whole as u64)),
        }
    }
}

/// A file that is read at any place.
#[derive(Debug)]
struct Source<S> {
    source: S,
    size: u64,
}

impl<S: Read + Seek> Source<S> {
    fn new(mut source: S) -> Result<Self, ParquetError> {
        let size = source.seek(SeekFrom::End(0))?;
        Ok(Self { source, size })
    }

    /// The bytes at a place, all of which have to be there.
    fn read(&mut self, at: u64, length: usize) -> Result<Vec<u8>, ParquetError> {
        let end = at.checked_add(length as u64).filter(|end| *end <= self.size);
        if end.is_none() {
            return Err(ParquetError::Damaged("it points behind its end"));
        }
        self.source.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; length];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

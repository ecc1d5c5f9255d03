//! Why a trace cannot be read.

use std::io;

use crate::line::LineError;
use crate::record::VERSION;

/// Why a trace cannot be read, or not further. Lines and columns count from one, columns in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The source failed.
    #[error("line {line} cannot be read: {source}")]
    Io {
        /// The line that was being read.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the trace is empty")]
    Empty,
    /// The header is the last line, and cut.
    #[error("the trace ends within its header")]
    CutHeader,
    /// The first line is no header.
    #[error("this is no trace: {reason}")]
    NotATrace {
        /// What is wrong with the first line.
        reason: String,
    },
    /// It was written by a later version.
    #[error("the trace has version {found}; this program reads version {VERSION}")]
    LaterVersion {
        /// The version in the header.
        found: u64,
    },
    /// A line is too long.
    #[error("line {line} is longer than {limit} bytes, which are the limit")]
    TooLong {
        /// The line.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// A line is no record.
    #[error("line {line}, column {column}: {reason}")]
    Invalid {
        /// The line.
        line: u64,
        /// The column; zero where it is the record as a whole.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A line is a record that this version of the format does not have.
    #[error("line {line}: there is no record `{record}` in version {VERSION}")]
    UnknownRecord {
        /// The line.
        line: u64,
        /// Its kind.
        record: String,
    },
    /// There is a header that is not the first line.
    #[error("line {line}: a second header; these are two traces in one file")]
    SecondHeader {
        /// The line.
        line: u64,
    },
    /// The records are not in order.
    #[error("line {line}: record {seq} stands behind record {after}")]
    OutOfOrder {
        /// The line.
        line: u64,
        /// Its sequence number.
        seq: u64,
        /// The one before it.
        after: u64,
    },
}

impl TraceError {
    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Empty | Self::CutHeader => {
                Some("the run was ended before anything happened; there is nothing to read")
            }
            Self::NotATrace { .. } => {
                Some("a trace is JSON Lines, and its first line is `{\"record\":\"header\",…}`")
            }
            Self::LaterVersion { .. } => {
                Some("read it with the program that `written_by` in its first line names")
            }
            Self::UnknownRecord { .. } => Some("it may have been written by a later program; try that one"),
            Self::OutOfOrder { .. } => {
                Some("`seq` must increase from line to line; was the file sorted or joined?")
            }
            _ => None,
        }
    }

    /// A line of a trace that is no record.
    pub(crate) fn of_line(line: u64, error: LineError) -> Self {
        match error {
            LineError::UnknownRecord(record) => Self::UnknownRecord { line, record },
            LineError::Json(error) => {
                let (reason, column) = without_place(&error);
                Self::Invalid { line, column, reason }
            }
        }
    }
}

/// What `serde_json` says, without a place in it, since each line is line one to it.
pub(crate) fn without_place(error: &serde_json::Error) -> (String, usize) {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let words = error.to_string();
    (words.strip_suffix(&place).unwrap_or(&words).to_owned(), error.column())
}

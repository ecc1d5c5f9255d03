//! Rows of traces, session by session.

use std::collections::HashMap;
use std::fmt;
use std::io::{Read, Seek};
use std::ops::Range;

use super::metadata::{Footer, RowGroup};
use super::pages::{Budget, ColumnReader};
use super::rows::ROW;
use super::schema::{self, Column, NodeKind, Physical, Repetition};
use super::{ParquetError, ParquetLimits, Source};
use crate::input::InputLimits;

/// How much is held of a file whose rows are read in their order, in bytes.
const HELD: usize = 1024 * 1024;

/// The lines of traces in a Parquet file, session by session.
///
/// A file of [`TraceWriter`](super::TraceWriter) keeps the sessions of a row group together, in another order, so that a row group is held and
/// sorted. In any other file with the columns `session` and `record`, sessions are expected one after the other, and their rows in order.
pub struct TraceRows<S> {
    source: Source<S>,
    budget: Budget,
    limits: ParquetLimits,
    is_grouped: bool,
    columns: TraceColumns<(usize, Column)>,
    /// How many columns there are.
    count: usize,
    groups: std::vec::IntoIter<RowGroup>,
    readers: Option<TraceColumns<ColumnReader>>,
    /// Rows of the row group that were not read.
    left: u64,
    /// How much of all rows may still be read.
    room: u64,
    held: HeldRows,
}

/// The columns that are read.
struct TraceColumns<T> {
    session: T,
    record: T,
    seq: Option<T>,
}

/// Rows that were read and not handed out.
#[derive(Default)]
struct HeldRows {
    text: String,
    /// Names of sessions, in the order in which they are handed out, and where each is.
    sessions: Vec<String>,
    places: HashMap<String, usize>,
    rows: Vec<HeldRow>,
    next: usize,
    /// How much all of it takes.
    size: usize,
}

struct HeldRow {
    session: usize,
    seq: Option<u64>,
    line: Range<usize>,
}

impl<S> fmt::Debug for TraceRows<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceRows").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<S: Read + Seek> TraceRows<S> {
    /// Reads the footer of a file. `None` where its rows are something else than lines of traces.
    pub fn open(source: S, limits: InputLimits) -> Result<Option<Self>, ParquetError> {
        let whole = limits.whole;
        let mut source = Source::new(source)?;
        let limits = ParquetLimits { held: whole, ..ParquetLimits::new(limits, source.size) };
        let footer = Footer::read(&mut source, limits)?;
        let (members, kinds) = schema::tree(&footer.schema)?;
        let column = |name: &str, physical: Physical| {
            let member = members.iter().find(|member| member.name == name)?;
            let NodeKind::Value(column) = member.kind else { return None };
            let is_one = member.repetition != Repetition::Repeated && column.physical == physical;
            is_one.then_some((member.columns.start, column))
        };
        let (Some(session), Some(record)) =
            (column("session", Physical::Bytes), column("record", Physical::Bytes))
        else {
            return Ok(None);
        };
        let seq = column("seq", Physical::Int64);
        Ok(Some(Self {
            source,
            budget: Budget::new(limits.held),
            is_grouped: footer.has_whole_sessions && seq.is_some(),
            columns: TraceColumns { session, record, seq },
            count: kinds.len(),
            groups: footer.groups.into_iter(),
            readers: None,
            left: 0,
            room: limits.rows,
            limits,
            held: HeldRows::default(),
        }))
    }

    /// The next line, and the session that it belongs to.
    pub fn next_row(&mut self) -> Result<Option<(&str, &str)>, ParquetError> {
        while self.held.next == self.held.rows.len() {
            if !self.fill()? {
                return Ok(None);
            }
        }
        let HeldRows { text, sessions, rows, next, .. } = &mut self.held;
        let row = &rows[*next];
        *next += 1;
        Ok(Some((&sessions[row.session], &text[row.line.clone()])))
    }

    /// Reads the next rows. Says whether there may be more.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        self.held.clear();
        if self.left == 0 {
            let Some(group) = self.groups.next() else { return Ok(false) };
            self.begin(&group)?;
        }
        while self.left > 0 && (self.is_grouped || self.held.size < HELD) {
            self.row()?;
            self.left -= 1;
            if self.held.size > self.limits.held {
                let what = "the sessions of a row group take too much at a time";
                return Err(ParquetError::TooLarge { what, limit: self.limits.held as u64 });
            }
        }
        if self.is_grouped {
            self.held.rows.sort_by_key(|row| (row.session, row.seq));
        }
        Ok(true)
    }

    fn begin(&mut self, group: &RowGroup) -> Result<(), ParquetError> {
        if let Some(TraceColumns { session, record, seq }) = self.readers.take() {
            [Some(session), Some(record), seq]
                .into_iter()
                .flatten()
                .for_each(|one| one.release(&mut self.budget));
        }
        if group.columns.len() != self.count {
            return Err(ParquetError::Damaged("a row group that has not all columns"));
        }
        let reader = |(at, kind): (usize, Column)| ColumnReader::new(kind, group.columns[at]);
        self.readers = Some(TraceColumns {
            session: reader(self.columns.session)?,
            record: reader(self.columns.record)?,
            seq: self.columns.seq.map(reader).transpose()?,
        });
        self.left = group.rows;
        Ok(())
    }

    fn row(&mut self) -> Result<(), ParquetError> {
        let Self { source, budget, held, .. } = self;
        let Some(readers) = &mut self.readers else { return Ok(()) };
        let line = held.text.len();
        held.text.push_str(text(&mut readers.record, source, budget)?);
        let line = line..held.text.len();
        if line.len() > self.limits.row {
            return Err(ParquetError::TooLarge { what: "a row is too long", limit: self.limits.row as u64 });
        }
        let session = held.session(text(&mut readers.session, source, budget)?);
        let seq = match &mut readers.seq {
            None => None,
            Some(reader) => {
                reader.peek(source, budget)?.ok_or(SHORT)?;
                let bytes = reader.take()?.and_then(|bytes| bytes.first_chunk::<8>().copied());
                bytes.map(u64::from_le_bytes)
            }
        };
        let spent = line.len() as u64 + ROW;
        self.room = self.room.checked_sub(spent).ok_or(ParquetError::TooLarge {
            what: "its rows are larger than is read of one file",
            limit: self.limits.rows,
        })?;
        held.size += line.len() + size_of::<HeldRow>();
        held.rows.push(HeldRow { session, seq, line });
        Ok(())
    }
}

const SHORT: ParquetError = ParquetError::Damaged("a column that ends before the others");

/// The next value of a column of texts; nothing where there is none.
fn text<'r, S: Read + Seek>(
    reader: &'r mut ColumnReader,
    source: &mut Source<S>,
    budget: &mut Budget,
) -> Result<&'r str, ParquetError> {
    reader.peek(source, budget)?.ok_or(SHORT)?;
    let bytes = reader.take()?.unwrap_or_default();
    std::str::from_utf8(bytes).map_err(|_| ParquetError::Damaged("a text that is not UTF-8"))
}

impl HeldRows {
    /// The place of a session.
    fn session(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.sessions.len();
        self.sessions.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        self.size += 2 * name.len();
        place
    }

    fn clear(&mut self) {
        self.text.clear();
        self.sessions.clear();
        self.places.clear();
        self.rows.clear();
        self.next = 0;
        self.size = 0;
    }
}

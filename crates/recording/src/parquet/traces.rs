//! Traces as Parquet: one row for each record.
//!
//! | column | of |
//! |---|---|
//! | `session` | the session that the record belongs to |
//! | `seq` | its position there; none for a header |
//! | `time` | when it happened, in microseconds, UTC; none where that cannot be read |
//! | `kind` | the kind of a message; for another record, the word of its `record` |
//! | `protocol`, `surface`, `surfaces`, `direction`, `sender` | of messages; `surface` is the first of `surfaces` |
//! | `actor` | the actor that it is about |
//! | `record` | the line of the trace, as it is |
//!
//! A row group holds whole sessions, or a part of one that is too large to be held; the file says so by a key. Within a row group, rows are
//! sorted by protocol, surface and time, and pages end where the surface changes: who asks for one surface reads its pages, and who needs
//! sessions sorts the rows of one row group at a time. `protocol`, `surface`, `time`, `session` and `seq` have bounds for each page.

use std::io::{self, Write};
use std::ops::Range;
use std::time::UNIX_EPOCH;

use sortie_protocol::Kind;
use sortie_trace::line::LineError;
use sortie_trace::time::parse_time;
use sortie_trace::{Direction, Record, Sender};

use super::MAGIC;
use super::column_writer::{CellCount, CellKind, Cells, ColumnSpec, WrittenColumn};
use super::thrift_writer::{ItemKind, ThriftWriter};

/// The key in the metadata of a file whose row groups hold whole sessions, and its value.
pub(super) const LAYOUT: (&str, &str) = ("sortie.traces", "1");

/// How much a row group holds, as lines, in bytes.
const GROUP: usize = 32 * 1024 * 1024;
/// How much a page of lines holds, in bytes; less where the surface changes.
const PAGE: Range<usize> = 16 * 1024..128 * 1024;
/// How many rows a page holds.
const PAGE_ROWS: usize = 20_000;

const COLUMNS: [ColumnSpec; 11] = [
    column("session", CellKind::Text, CellCount::One, true),
    column("seq", CellKind::Unsigned, CellCount::AtMostOne, true),
    column("time", CellKind::Time, CellCount::AtMostOne, true),
    column("kind", CellKind::Text, CellCount::One, false),
    column("protocol", CellKind::Text, CellCount::AtMostOne, true),
    column("surface", CellKind::Text, CellCount::AtMostOne, true),
    column("surfaces", CellKind::Text, CellCount::Any, false),
    column("direction", CellKind::Text, CellCount::AtMostOne, false),
    column("sender", CellKind::Text, CellCount::AtMostOne, false),
    column("actor", CellKind::Text, CellCount::AtMostOne, false),
    ColumnSpec { has_dictionary: false, ..column("record", CellKind::Text, CellCount::One, false) },
];

const fn column(name: &'static str, kind: CellKind, count: CellCount, is_key: bool) -> ColumnSpec {
    ColumnSpec { name, kind, count, is_key, has_dictionary: true }
}

/// Why a line is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceRowError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a line of a trace.
    #[error(transparent)]
    Line(#[from] LineError),
    /// It is the header of another session.
    #[error("it is a second header")]
    SecondHeader,
    /// It is not after the record before it, so its place in the session would be lost.
    #[error("its `seq`, {seq}, is not after the one before it, {before}")]
    Order {
        /// The position that the record says.
        seq: u64,
        /// That of the record before it.
        before: u64,
    },
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenTraces {
    /// Sessions.
    pub sessions: u64,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub groups: u64,
    /// All lines together, in bytes.
    pub lines: u64,
    /// The file, in bytes.
    pub bytes: u64,
}

/// Writes traces as a Parquet file.
///
/// ```
/// use std::io::Cursor;
///
/// use sortie_recording::input::InputLimits;
/// use sortie_recording::parquet::{TraceRows, TraceWriter};
///
/// let header = r#"{"record":"header","version":1,"origin":"foreign","written_by":"me","time":"2026-11-17T10:00:00Z"}"#;
/// let mut file = Vec::new();
/// let mut writer = TraceWriter::new(&mut file)?;
/// writer.begin("monday")?;
/// writer.line(header)?;
/// assert_eq!(writer.finish()?.rows, 1);
///
/// let mut rows = TraceRows::open(Cursor::new(file), InputLimits::default())?.unwrap();
/// assert_eq!(rows.next_row()?, Some(("monday", header)));
/// assert_eq!(rows.next_row()?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    sessions: Vec<String>,
    rows: Vec<Row>,
    /// The lines of all rows that are held.
    lines: String,
    /// Where the lines and the rows of the last session begin.
    session_start: (usize, usize),
    /// Whether rows of the last session were written already.
    is_split: bool,
    /// Whether the last session has rows, and the position of the last.
    has_rows: bool,
    last_seq: Option<u64>,
    groups: Vec<Vec<u8>>,
    written: WrittenTraces,
    group_bytes: usize,
}

/// A record that is held until its row group is written.
#[derive(Debug)]
struct Row {
    session: usize,
    seq: Option<u64>,
    time: Option<i64>,
    kind: &'static str,
    protocol: Option<String>,
    surfaces: Vec<String>,
    direction: Option<&'static str>,
    sender: Option<&'static str>,
    actor: Option<String>,
    line: Range<usize>,
}

impl Row {
    fn new(record: Record, session: usize, line: Range<usize>) -> Self {
        let time = parse_time(record.time()).and_then(|time| match time.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).ok(),
            Err(before) => i64::try_from(before.duration().as_micros()).ok().map(|micros| -micros),
        });
        let seq = (!matches!(record, Record::Header(_))).then(|| record.seq());
        let kind = record.name();
        let actor = record.actor().map(str::to_owned);
        let row = Self {
            session,
            seq,
            time,
            kind,
            protocol: None,
            surfaces: Vec::new(),
            direction: None,
            sender: None,
            actor,
            line,
        };
        let Record::Message(message) = record else { return row };
        Self {
            kind: kind_word(message.kind),
            protocol: Some(message.protocol),
            surfaces: message.surfaces,
            direction: Some(match message.direction {
                Direction::Request => "request",
                Direction::Response => "response",
            }),
            sender: Some(match message.sender {
                Sender::Agent => "agent",
                Sender::Actor => "actor",
            }),
            ..row
        }
    }

    fn surface(&self) -> Option<&str> {
        self.surfaces.first().map(String::as_str)
    }

    fn key(&self) -> (Option<&str>, Option<&str>, Option<i64>, usize, Option<u64>) {
        (self.protocol.as_deref(), self.surface(), self.time, self.session, self.seq)
    }
}

impl<W: Write> TraceWriter<W> {
    /// Begins a file.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let written = WrittenTraces { bytes: MAGIC.len() as u64, ..WrittenTraces::default() };
        Ok(Self {
            out,
            sessions: Vec::new(),
            rows: Vec::new(),
            lines: String::new(),
            session_start: (0, 0),
            is_split: false,
            has_rows: false,
            last_seq: None,
            groups: Vec::new(),
            written,
            group_bytes: GROUP,
        })
    }

    /// Begins a session. Names have to differ from session to session.
    pub fn begin(&mut self, session: &str) -> io::Result<()> {
        if self.is_split || self.lines.len() >= self.group_bytes {
            self.write_group(self.rows.len(), self.lines.len())?;
        }
        self.sessions.push(session.to_owned());
        self.session_start = (self.rows.len(), self.lines.len());
        self.is_split = false;
        self.has_rows = false;
        self.last_seq = None;
        self.written.sessions += 1;
        Ok(())
    }

    /// A line of the session that was begun last.
    pub fn line(&mut self, line: &str) -> Result<(), TraceRowError> {
        let record = Record::from_line(line)?;
        if matches!(record, Record::Header(_)) {
            if self.has_rows {
                return Err(TraceRowError::SecondHeader);
            }
        } else {
            let seq = record.seq();
            if let Some(before) = self.last_seq.filter(|before| *before >= seq) {
                return Err(TraceRowError::Order { seq, before });
            }
            self.last_seq = Some(seq);
        }
        if self.sessions.is_empty() {
            self.begin("")?;
        }
        self.has_rows = true;
        let start = self.lines.len();
        self.lines.push_str(line);
        self.rows.push(Row::new(record, self.sessions.len() - 1, start..self.lines.len()));
        if self.lines.len() - self.session_start.1 >= self.group_bytes {
            // A session that is too large to be held has row groups of its own.
            self.write_group(self.session_start.0, self.session_start.1)?;
            self.write_group(self.rows.len(), self.lines.len())?;
            self.is_split = true;
        }
        Ok(())
    }

    /// Writes what is held, and the end of the file.
    pub fn finish(mut self) -> io::Result<WrittenTraces> {
        self.write_group(self.rows.len(), self.lines.len())?;
        let Self { out, groups, written, .. } = &mut self;
        let mut footer = ThriftWriter::structure(|writer| {
            writer.int(1, 2);
            write_schema(writer);
            writer.long(3, written.rows);
            writer.list(4, ItemKind::Struct, groups.len());
            for group in &*groups {
                writer.raw_item(group);
            }
            writer.list(5, ItemKind::Struct, 1);
            writer.item(|pair| {
                pair.binary(1, LAYOUT.0.as_bytes());
                pair.binary(2, LAYOUT.1.as_bytes());
            });
            writer.binary(6, concat!("sortie version ", env!("CARGO_PKG_VERSION")).as_bytes());
            // Bounds are in the order of the type.
            writer.list(7, ItemKind::Struct, COLUMNS.len());
            for _ in COLUMNS {
                writer.item(|order| order.nested(1, |_| ()));
            }
        });
        let length = u32::try_from(footer.len()).map_err(|_| io::Error::other("the footer is too large"))?;
        footer.extend_from_slice(&length.to_le_bytes());
        footer.extend_from_slice(MAGIC);
        out.write_all(&footer)?;
        out.flush()?;
        written.bytes += footer.len() as u64;
        Ok(*written)
    }

    /// Writes the first rows, with these first bytes of lines, as a row group.
    fn write_group(&mut self, rows: usize, lines: usize) -> io::Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let rest = self.rows.split_off(rows);
        let mut own = std::mem::replace(&mut self.rows, rest);
        own.sort_by(|left, right| left.key().cmp(&right.key()));
        let columns = columns_of(&own, &self.sessions, &self.lines);
        let start = self.written.bytes;
        let mut places = Vec::new();
        for column in &columns {
            places.push(self.written.bytes);
            self.put(&column.bytes)?;
        }
        let mut indexes = Vec::new();
        for (column, place) in columns.iter().zip(&places) {
            let bounds = match column.column_index() {
                Some(bytes) => Some(self.put(&bytes)?),
                None => None,
            };
            let offsets = self.put(&column.offset_index(*place))?;
            indexes.push((bounds, offsets));
        }
        let packed: usize = columns.iter().map(|column| column.bytes.len()).sum();
        let whole: u64 = columns.iter().map(WrittenColumn::uncompressed).sum();
        self.groups.push(ThriftWriter::structure(|writer| {
            writer.list(1, ItemKind::Struct, columns.len());
            for ((column, place), (bounds, offsets)) in columns.iter().zip(&places).zip(&indexes) {
                writer.item(|chunk| {
                    chunk.long(2, *place);
                    chunk.nested(3, |about| column.write_metadata(*place, about));
                    for (id, part) in [(4, Some(offsets)), (6, bounds.as_ref())] {
                        if let Some((at, length)) = part {
                            chunk.long(id, *at);
                            chunk.int(id + 1, *length);
                        }
                    }
                });
            }
            writer.long(2, whole);
            writer.long(3, own.len() as u64);
            writer.long(5, start);
            writer.long(6, packed as u64);
        }));
        self.written.rows += own.len() as u64;
        self.written.groups += 1;
        self.written.lines += lines as u64;
        // What is left belongs to the last session.
        self.lines.drain(..lines);
        self.rows.iter_mut().for_each(|row| row.line = row.line.start - lines..row.line.end - lines);
        let last = self.sessions.len() - 1;
        self.sessions.drain(..last);
        self.rows.iter_mut().for_each(|row| row.session = 0);
        self.session_start = (0, 0);
        Ok(())
    }

    /// Writes bytes, and says where and how many.
    fn put(&mut self, bytes: &[u8]) -> io::Result<(u64, i32)> {
        let at = self.written.bytes;
        self.out.write_all(bytes)?;
        self.written.bytes += bytes.len() as u64;
        Ok((at, i32::try_from(bytes.len()).unwrap_or(i32::MAX)))
    }
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "request",
        Kind::Notification => "notification",
        Kind::Response => "response",
        Kind::Error => "error",
        Kind::Event => "event",
    }
}

fn columns_of(rows: &[Row], sessions: &[String], lines: &str) -> Vec<WrittenColumn> {
    let (short, long) = page_ends(rows);
    let seqs: Vec<_> = rows.iter().map(|row| row.seq.map(u64::to_le_bytes)).collect();
    let times: Vec<_> = rows.iter().map(|row| row.time.map(i64::to_le_bytes)).collect();
    let numbers = |of: &'static str| if of == "seq" { &seqs } else { &times };
    COLUMNS
        .iter()
        .map(|spec| {
            let one = |of: fn(&Row) -> Option<&str>| {
                Cells::any(rows.iter().map(move |row| of(row).map(str::as_bytes).into_iter()))
            };
            let cells = match spec.name {
                "session" => Cells::one(rows.iter().map(|row| sessions[row.session].as_bytes())),
                "seq" | "time" => {
                    let cells = numbers(spec.name).iter();
                    Cells::any(cells.map(|cell| cell.as_ref().map(<[u8; 8]>::as_slice).into_iter()))
                }
                "kind" => Cells::one(rows.iter().map(|row| row.kind.as_bytes())),
                "protocol" => one(|row| row.protocol.as_deref()),
                "surface" => one(Row::surface),
                "surfaces" => Cells::any(rows.iter().map(|row| row.surfaces.iter().map(String::as_bytes))),
                "direction" => one(|row| row.direction),
                "sender" => one(|row| row.sender),
                "actor" => one(|row| row.actor.as_deref()),
                _ => Cells::one(rows.iter().map(|row| &lines.as_bytes()[row.line.clone()])),
            };
            let is_short = spec.is_key || spec.name == "record";
            WrittenColumn::new(*spec, &cells, if is_short { &short } else { &long })
        })
        .collect()
}

/// The rows at which short pages and long pages end.
fn page_ends(rows: &[Row]) -> (Vec<usize>, Vec<usize>) {
    let (mut short, mut held, mut first) = (Vec::new(), 0, 0);
    for (at, row) in rows.iter().enumerate() {
        let is_other =
            at > 0 && (row.surface(), &row.protocol) != (rows[at - 1].surface(), &rows[at - 1].protocol);
        if at > first && (held >= PAGE.end || at - first >= PAGE_ROWS || (is_other && held >= PAGE.start)) {
            short.push(at);
            (held, first) = (0, at);
        }
        held += row.line.len();
    }
    short.push(rows.len());
    let mut long: Vec<usize> = (PAGE_ROWS..rows.len()).step_by(PAGE_ROWS).collect();
    long.push(rows.len());
    (short, long)
}

fn write_schema(writer: &mut ThriftWriter) {
    let lists = COLUMNS.iter().filter(|spec| spec.count == CellCount::Any).count();
    writer.list(2, ItemKind::Struct, 1 + COLUMNS.len() + 2 * lists);
    writer.item(|root| {
        root.binary(4, b"trace");
        root.int(5, i32::try_from(COLUMNS.len()).unwrap_or(i32::MAX));
    });
    for spec in &COLUMNS {
        let mut name = spec.name;
        if spec.count == CellCount::Any {
            writer.item(|list| {
                list.int(3, 0);
                list.binary(4, name.as_bytes());
                list.int(5, 1);
                list.int(6, 3);
                list.nested(10, |logical| logical.nested(3, |_| ()));
            });
            writer.item(|repeated| {
                repeated.int(3, 2);
                repeated.binary(4, b"list");
                repeated.int(5, 1);
            });
            name = "element";
        }
        writer.item(|value| {
            value.int(1, spec.physical());
            value.int(3, i32::from(spec.count == CellCount::AtMostOne));
            value.binary(4, name.as_bytes());
            match spec.kind {
                CellKind::Text => {
                    value.int(6, 0);
                    value.nested(10, |logical| logical.nested(1, |_| ()));
                }
                CellKind::Unsigned => {
                    value.int(6, 14);
                    value.nested(10, |logical| {
                        logical.nested(10, |integer| {
                            integer.byte(1, 64);
                            integer.truth(2, false);
                        });
                    });
                }
                CellKind::Time => {
                    value.int(6, 10);
                    value.nested(10, |logical| {
                        logical.nested(8, |time| {
                            time.truth(1, true);
                            time.nested(2, |unit| unit.nested(2, |_| ()));
                        });
                    });
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::input::InputLimits;
    use crate::parquet::{ParquetRows, TraceRows};

    const HEADER: &str =
        r#"{"record":"header","version":1,"origin":"run","written_by":"me","time":"2026-11-17T10:00:00Z"}"#;

    fn message(seq: u64, protocol: &str, surfaces: &str, text: &str) -> String {
        format!(
            r#"{{"record":"message","seq":{seq},"time":"2026-11-17T10:00:{:02}.5Z","actor":"files","mode":"mcp_server","phase":"p","protocol":"{protocol}","surfaces":{surfaces},"direction":"request","kind":"request","connection":"1","sender":"agent","content":{{"text":"{text}"}}}}"#,
            seq % 60
        )
    }

    /// Sessions whose messages have different surfaces, and texts that take `size` bytes.
    fn sessions(count: usize, messages: u64, size: usize) -> Vec<(String, Vec<String>)> {
        let session = |at: usize| {
            let mut lines = vec![HEADER.to_owned()];
            for seq in 1..=messages {
                let (protocol, surfaces) = match (at as u64 + seq) % 4 {
                    0 => ("mcp", r#"["tools/call"]"#),
                    1 => ("mcp", r#"["tools/list"]"#),
                    2 => ("a2a", r#"["message/send","SendMessage"]"#),
                    _ => ("chat", "[]"),
                };
                lines.push(message(seq, protocol, surfaces, &"é".repeat(size / 2)));
            }
            (format!("session {at}"), lines)
        };
        (0..count).map(session).collect()
    }

    fn written(sessions: &[(String, Vec<String>)], group_bytes: usize) -> (Vec<u8>, WrittenTraces) {
        let mut file = Vec::new();
        let mut writer = TraceWriter { group_bytes, ..TraceWriter::new(&mut file).unwrap() };
        for (name, lines) in sessions {
            writer.begin(name).unwrap();
            for line in lines {
                writer.line(line).unwrap();
            }
        }
        let written = writer.finish().unwrap();
        assert_eq!(written.bytes, file.len() as u64);
        (file, written)
    }

    fn read(file: Vec<u8>) -> Vec<(String, String)> {
        let mut rows = TraceRows::open(Cursor::new(file), InputLimits::default()).unwrap().unwrap();
        let mut all = Vec::new();
        while let Some((session, line)) = rows.next_row().unwrap() {
            all.push((session.to_owned(), line.to_owned()));
        }
        all
    }

    #[test]
    fn sessions_come_back_line_by_line_however_they_are_grouped() {
        for (count, messages, size, group_bytes, groups) in [
            (1, 0, 0, GROUP, 1),
            (3, 5, 10, GROUP, 1),
            (40, 30, 200, 20_000, 20),
            // A session that is larger than a row group is split, and has its groups alone.
            (3, 500, 1000, 100_000, 21),
        ] {
            let sessions = sessions(count, messages, size);
            let (file, written) = written(&sessions, group_bytes);
            assert_eq!(written.groups, groups, "{count} sessions");
            let mut found = read(file);
            let flat = |(name, lines): &(String, Vec<String>)| {
                lines.iter().map(|line| (name.clone(), line.clone())).collect::<Vec<_>>()
            };
            let mut expected: Vec<_> = sessions.iter().flat_map(flat).collect();
            assert_eq!(written.rows, expected.len() as u64);
            // Sessions of a row group may change places, whole; their lines may not.
            let order = |rows: &mut Vec<(String, String)>| rows.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(found.chunk_by(|a, b| a.0 == b.0).count(), count, "a session is in one piece");
            order(&mut found);
            order(&mut expected);
            assert!(found == expected, "{count} sessions");
        }
    }

    #[test]
    fn every_column_is_what_the_record_says() {
        let (file, _) = written(&sessions(1, 4, 2), GROUP);
        let mut rows = ParquetRows::open(Cursor::new(file), InputLimits::default()).unwrap();
        let mut all = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            let mut row: serde_json::Value = serde_json::from_str(row).unwrap();
            let record: serde_json::Value = serde_json::from_str(row["record"].as_str().unwrap()).unwrap();
            assert_eq!(row["seq"], record["seq"]);
            row.as_object_mut().unwrap().remove("record");
            all.push(row.to_string());
        }
        // Sorted by protocol, surface and time.
        let expected = [
            r#"{"session":"session 0","time":"2026-11-17T10:00:00.000000Z","kind":"header","surfaces":[]}"#,
            r#"{"session":"session 0","seq":2,"time":"2026-11-17T10:00:02.500000Z","kind":"request","protocol":"a2a","surface":"message/send","surfaces":["message/send","SendMessage"],"direction":"request","sender":"agent","actor":"files"}"#,
            r#"{"session":"session 0","seq":3,"time":"2026-11-17T10:00:03.500000Z","kind":"request","protocol":"chat","surfaces":[],"direction":"request","sender":"agent","actor":"files"}"#,
            r#"{"session":"session 0","seq":4,"time":"2026-11-17T10:00:04.500000Z","kind":"request","protocol":"mcp","surface":"tools/call","surfaces":["tools/call"],"direction":"request","sender":"agent","actor":"files"}"#,
            r#"{"session":"session 0","seq":1,"time":"2026-11-17T10:00:01.500000Z","kind":"request","protocol":"mcp","surface":"tools/list","surfaces":["tools/list"],"direction":"request","sender":"agent","actor":"files"}"#,
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn lines_whose_place_would_be_lost_are_refused() {
        let mut writer = TraceWriter::new(Vec::new()).unwrap();
        writer.begin("one").unwrap();
        writer.line(HEADER).unwrap();
        writer.line(&message(3, "mcp", "[]", "")).unwrap();
        assert!(matches!(writer.line(HEADER), Err(TraceRowError::SecondHeader)));
        let again = writer.line(&message(3, "mcp", "[]", ""));
        assert!(matches!(again, Err(TraceRowError::Order { seq: 3, before: 3 })));
        assert!(matches!(writer.line("{"), Err(TraceRowError::Line(_))));
        writer.begin("two").unwrap();
        writer.line(&message(1, "mcp", "[]", "")).unwrap();
        assert_eq!(writer.finish().unwrap().rows, 3);
    }

    #[test]
    fn a_row_group_that_takes_too_much_is_an_error() {
        let (file, _) = written(&sessions(4, 50, 1000), GROUP);
        let limits = InputLimits { whole: 100_000, ..InputLimits::default() };
        let mut rows = TraceRows::open(Cursor::new(file), limits).unwrap().unwrap();
        assert!(matches!(rows.next_row(), Err(crate::parquet::ParquetError::TooLarge { .. })));
    }
}

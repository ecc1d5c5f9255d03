//! Rows, put together from all columns.

use std::fmt;
use std::io::{Read, Seek};

use super::metadata::{Footer, RowGroup};
use super::pages::{Budget, ColumnReader, Levels};
use super::schema::{self, Column, Node, NodeKind, Repetition};
use super::values::{write_json, write_text};
use super::{ParquetError, ParquetLimits, Source};
use crate::input::InputLimits;

/// What a row counts besides its text, so that rows of nothing come to an end too.
pub(super) const ROW: u64 = 64;

/// The rows of a file, one after the other.
///
/// ```no_run
/// use std::fs::File;
///
/// use sortie_recording::input::InputLimits;
/// use sortie_recording::parquet::ParquetRows;
///
/// let mut rows = ParquetRows::open(File::open("observations.parquet")?, InputLimits::default())?;
/// while let Some(json) = rows.next_row()? {
///     println!("{json}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetRows<S> {
    columns: Columns<S>,
    members: Vec<Node>,
    kinds: Vec<Column>,
    groups: std::vec::IntoIter<RowGroup>,
    /// How many rows of the group are left.
    left: u64,
    /// How much of all rows may still be written.
    room: u64,
    limits: ParquetLimits,
    json: String,
}

/// The columns of a row group, side by side.
struct Columns<S> {
    source: Source<S>,
    readers: Vec<ColumnReader>,
    budget: Budget,
    /// How long a row may be.
    limit: usize,
}

impl<S> fmt::Debug for ParquetRows<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetRows").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<S: Read + Seek> ParquetRows<S> {
    /// Reads the footer of a file.
    pub fn open(source: S, limits: InputLimits) -> Result<Self, ParquetError> {
        let mut source = Source::new(source)?;
        let limits = ParquetLimits::new(limits, source.size);
        let footer = Footer::read(&mut source, limits)?;
        let (members, kinds) = schema::tree(&footer.schema)?;
        let budget = Budget::new(limits.held);
        Ok(Self {
            columns: Columns { source, readers: Vec::new(), budget, limit: limits.row },
            members,
            kinds,
            groups: footer.groups.into_iter(),
            left: 0,
            room: limits.rows,
            limits,
            json: String::new(),
        })
    }

    /// The names of the members of a row.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The next row, as a JSON object of the members that are there.
    pub fn next_row(&mut self) -> Result<Option<&str>, ParquetError> {
        while self.left == 0 {
            self.columns.finish()?;
            let Some(group) = self.groups.next() else { return Ok(None) };
            self.left = group.rows;
            self.columns.begin(&group, &self.kinds)?;
        }
        self.left -= 1;
        self.json.clear();
        self.json.push('{');
        for member in &self.members {
            if self.columns.levels(member.columns.start)?.repetition > 0 {
                return Err(ParquetError::Damaged("a row that begins within another"));
            }
            let start = self.json.len();
            if start > 1 {
                self.json.push(',');
            }
            write_text(&member.name, &mut self.json);
            self.json.push(':');
            if !self.columns.write(member, &mut self.json)? {
                self.json.truncate(start);
            }
        }
        self.json.push('}');
        let spent = self.json.len() as u64 + ROW;
        self.room = self.room.checked_sub(spent).ok_or(ParquetError::TooLarge {
            what: "its rows are larger than is read of one file",
            limit: self.limits.rows,
        })?;
        Ok(Some(&self.json))
    }
}

impl<S: Read + Seek> Columns<S> {
    fn begin(&mut self, group: &RowGroup, kinds: &[Column]) -> Result<(), ParquetError> {
        if group.columns.len() != kinds.len() {
            return Err(ParquetError::Damaged("a row group that has not all columns"));
        }
        let readers = kinds.iter().zip(&group.columns);
        self.readers =
            readers.map(|(kind, chunk)| ColumnReader::new(*kind, *chunk)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The end of a row group, at which no column has anything left.
    fn finish(&mut self) -> Result<(), ParquetError> {
        for mut reader in std::mem::take(&mut self.readers) {
            if reader.peek(&mut self.source, &mut self.budget)?.is_some() {
                return Err(ParquetError::Damaged("a column that goes on after the last row"));
            }
            reader.release(&mut self.budget);
        }
        Ok(())
    }

    fn peek(&mut self, column: usize) -> Result<Option<Levels>, ParquetError> {
        self.readers[column].peek(&mut self.source, &mut self.budget)
    }

    /// The levels of the next value, which has to be there.
    fn levels(&mut self, column: usize) -> Result<Levels, ParquetError> {
        self.peek(column)?.ok_or(ParquetError::Damaged("a column that ends before the others"))
    }

    /// Writes a part of a row. Says whether it is there; where it is not, nothing, or `null`, is written.
    fn write(&mut self, node: &Node, json: &mut String) -> Result<bool, ParquetError> {
        if json.len() > self.limit {
            return Err(ParquetError::TooLarge { what: "a row is too long", limit: self.limit as u64 });
        }
        match node.repetition {
            Repetition::Required => self.write_inner(node, json)?,
            Repetition::Optional if self.levels(node.columns.start)?.definition >= node.definition => {
                self.write_inner(node, json)?;
            }
            Repetition::Optional => {
                self.pass(node)?;
                json.push_str("null");
                return Ok(false);
            }
            Repetition::Repeated => self.write_items(node, json, Self::write_inner)?,
        }
        Ok(true)
    }

    /// Writes a part that is there.
    fn write_inner(&mut self, node: &Node, json: &mut String) -> Result<(), ParquetError> {
        match &node.kind {
            NodeKind::Value(column) => {
                self.levels(node.columns.start)?;
                match self.readers[node.columns.start].take()? {
                    Some(value) => write_json(*column, value, json),
                    None => Err(ParquetError::Damaged("a value that is not there")),
                }
            }
            NodeKind::Group(members) => {
                json.push('{');
                for (at, member) in members.iter().enumerate() {
                    if at > 0 {
                        json.push(',');
                    }
                    write_text(&member.name, json);
                    json.push(':');
                    self.write(member, json)?;
                }
                json.push('}');
                Ok(())
            }
            NodeKind::List { repeated, is_wrapped: true } => {
                self.write_items(repeated, json, |columns, item, json| match &item.kind {
                    NodeKind::Group(members) => {
                        members.iter().try_for_each(|one| columns.write(one, json).map(|_| ()))
                    }
                    _ => columns.write_inner(item, json),
                })
            }
            NodeKind::List { repeated, is_wrapped: false } => {
                self.write_items(repeated, json, Self::write_inner)
            }
            NodeKind::Map(repeated) => self.write_pairs(repeated, json),
        }
    }

    fn write_items(
        &mut self,
        node: &Node,
        json: &mut String,
        mut write: impl FnMut(&mut Self, &Node, &mut String) -> Result<(), ParquetError>,
    ) -> Result<(), ParquetError> {
        json.push('[');
        let mut is_first = true;
        self.each(node, |columns| {
            if !std::mem::take(&mut is_first) {
                json.push(',');
            }
            if json.len() > columns.limit {
                let limit = columns.limit as u64;
                return Err(ParquetError::TooLarge { what: "a row is too long", limit });
            }
            write(columns, node, json)
        })?;
        json.push(']');
        Ok(())
    }

    /// Pairs as an object, whose names are the keys as texts.
    fn write_pairs(&mut self, node: &Node, json: &mut String) -> Result<(), ParquetError> {
        let NodeKind::Group(pair) = &node.kind else {
            return Err(ParquetError::Damaged("a map without pairs"));
        };
        json.push('{');
        let mut is_first = true;
        self.each(node, |columns| {
            if !std::mem::take(&mut is_first) {
                json.push(',');
            }
            let mut key = String::new();
            columns.write(&pair[0], &mut key)?;
            if key.starts_with('"') {
                json.push_str(&key);
            } else {
                write_text(&key, json);
            }
            json.push(':');
            columns.write(&pair[1], json).map(|_| ())
        })?;
        json.push('}');
        Ok(())
    }

    /// Does something for each item of what is repeated.
    fn each(
        &mut self,
        node: &Node,
        mut item: impl FnMut(&mut Self) -> Result<(), ParquetError>,
    ) -> Result<(), ParquetError> {
        let first = node.columns.start;
        if self.levels(first)?.definition < node.definition {
            return self.pass(node);
        }
        loop {
            item(self)?;
            match self.peek(first)? {
                Some(levels) if levels.repetition >= node.repeats => {}
                _ => return Ok(()),
            }
        }
    }

    /// Passes over a part that is not there: each of its columns says so once.
    fn pass(&mut self, node: &Node) -> Result<(), ParquetError> {
        for column in node.columns.clone() {
            self.levels(column)?;
            if self.readers[column].take()?.is_some() {
                return Err(ParquetError::Damaged("columns that do not agree on what is there"));
            }
        }
        Ok(())
    }
}

//! The schema as a tree: what a row looks like, and which levels say that a part of it is there.

use std::ops::Range;

use super::ParquetError;
use super::metadata::{Meaning, SchemaElement};

/// How deep columns may be nested.
const DEPTH: usize = 16;
/// How many columns a file may have.
const COLUMNS: usize = 10_000;

/// Whether a part of a row has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    Required,
    Optional,
    Repeated,
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    /// So many bytes.
    Fixed(usize),
}

/// A part of a row.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) repetition: Repetition,
    /// The level from which on it is there.
    pub(super) definition: u32,
    /// The level of what repeats it.
    pub(super) repeats: u32,
    /// The columns within it.
    pub(super) columns: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Value(Column),
    Group(Vec<Node>),
    /// What is repeated within it are its items: as they are, or each the one member of a group.
    List {
        repeated: Box<Node>,
        is_wrapped: bool,
    },
    /// What is repeated within it are pairs.
    Map(Box<Node>),
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) physical: Physical,
    pub(super) meaning: Meaning,
    pub(super) definition: u32,
    pub(super) repetition: u32,
}

/// The members of a row, and all columns in order.
pub(super) fn tree(elements: &[SchemaElement]) -> Result<(Vec<Node>, Vec<Column>), ParquetError> {
    let (root, rest) = elements.split_first().ok_or(ParquetError::Damaged("it has no schema"))?;
    let mut builder = Builder { rest: rest.iter(), columns: Vec::new() };
    let members = builder.members(root.children, 0, 0, 0)?;
    if members.is_empty() || builder.rest.len() > 0 {
        return Err(ParquetError::Damaged("its schema is not a tree"));
    }
    Ok((members, builder.columns))
}

struct Builder<'e> {
    rest: std::slice::Iter<'e, SchemaElement>,
    columns: Vec<Column>,
}

impl Builder<'_> {
    fn members(
        &mut self,
        count: i64,
        definition: u32,
        repetition: u32,
        depth: usize,
    ) -> Result<Vec<Node>, ParquetError> {
        if depth > DEPTH {
            return Err(ParquetError::Unsupported(format!("columns nested deeper than {DEPTH}")));
        }
        (0..count).map(|_| self.node(definition, repetition, depth)).collect()
    }

    fn node(&mut self, definition: u32, repetition: u32, depth: usize) -> Result<Node, ParquetError> {
        let element = self.rest.next().ok_or(ParquetError::Damaged("its schema ends too early"))?;
        let repeated = match element.repetition {
            0 => Repetition::Required,
            1 => Repetition::Optional,
            2 => Repetition::Repeated,
            _ => return Err(ParquetError::Damaged("a column of no repetition")),
        };
        let definition = definition + u32::from(repeated != Repetition::Required);
        let repeats = repetition + u32::from(repeated == Repetition::Repeated);
        let first = self.columns.len();
        let kind = if element.children > 0 {
            let members = self.members(element.children, definition, repeats, depth + 1)?;
            group(element, members)
        } else {
            if first == COLUMNS {
                return Err(ParquetError::Unsupported(format!("more than {COLUMNS} columns")));
            }
            let physical = physical(element)?;
            let column = Column { physical, meaning: element.meaning, definition, repetition: repeats };
            self.columns.push(column);
            NodeKind::Value(column)
        };
        Ok(Node {
            name: element.name.clone(),
            repetition: repeated,
            definition,
            repeats,
            columns: first..self.columns.len(),
            kind,
        })
    }
}

/// What a group is: a list or a map has one member, which is repeated.
fn group(element: &SchemaElement, mut members: Vec<Node>) -> NodeKind {
    let is_one = members.len() == 1 && members[0].repetition == Repetition::Repeated;
    match (element.meaning, members.pop()) {
        (Meaning::List, Some(repeated)) if is_one => {
            let is_wrapped = matches!(&repeated.kind, NodeKind::Group(inner) if inner.len() == 1);
            NodeKind::List { repeated: Box::new(repeated), is_wrapped }
        }
        (Meaning::Map, Some(repeated))
            if is_one && matches!(&repeated.kind, NodeKind::Group(pair) if pair.len() == 2) =>
        {
            NodeKind::Map(Box::new(repeated))
        }
        (_, last) => {
            members.extend(last);
            NodeKind::Group(members)
        }
    }
}

fn physical(element: &SchemaElement) -> Result<Physical, ParquetError> {
    Ok(match element.physical {
        Some(0) => Physical::Boolean,
        Some(1) => Physical::Int32,
        Some(2) => Physical::Int64,
        Some(3) => Physical::Int96,
        Some(4) => Physical::Float,
        Some(5) => Physical::Double,
        Some(6) => Physical::Bytes,
        Some(7) => match usize::try_from(element.width) {
            Ok(width @ 1..=4096) => Physical::Fixed(width),
            _ => return Err(ParquetError::Damaged("values of no width")),
        },
        _ => return Err(ParquetError::Damaged("a column of no type")),
    })
}

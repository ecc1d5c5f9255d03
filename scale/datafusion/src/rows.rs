//! Findings and errors as Arrow columns.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, ListArray, NullBufferBuilder, RecordBatch, RecordBatchOptions,
    StringArray, StructArray, UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::error::Result;
use sortie_oatf::compile::FlowOrigin;
use sortie_scan::{FindingRow, RowError, Scanned};

/// A column of rows.
struct RowColumn {
    name: &'static str,
    values: ColumnValues,
    /// Whether a message that is looked at alone has it.
    is_of_message: bool,
}

enum ColumnValues {
    Text(fn(&Scanned) -> Option<&str>),
    Number(fn(&Scanned) -> Option<u64>),
    Truth(fn(&Scanned) -> Option<bool>),
    Origin,
}

fn finding(row: &Scanned) -> Option<&FindingRow> {
    match row {
        Scanned::Finding(row) => Some(row),
        Scanned::Error(_) => None,
    }
}

fn error(row: &Scanned) -> Option<&RowError> {
    match row {
        Scanned::Finding(_) => None,
        Scanned::Error(error) => Some(error),
    }
}

fn number(value: usize) -> u64 {
    value as u64
}

macro_rules! column {
    ($name:literal, $kind:ident, $is_of_message:literal, $of:expr) => {
        RowColumn { name: $name, values: ColumnValues::$kind($of), is_of_message: $is_of_message }
    };
}

/// The columns, in order: those of a line of `sortie scan --format jsonl`.
const COLUMNS: &[RowColumn] = &[
    column!("record", Text, false, |row| Some(if finding(row).is_some() { "finding" } else { "error" })),
    column!("id", Text, false, |row| finding(row).map(|row| row.id.as_str())),
    column!("source", Text, false, |row| Some(match row {
        Scanned::Finding(row) => row.source.as_str(),
        Scanned::Error(error) => error.source.as_str(),
    })),
    column!("session", Text, false, |row| match row {
        Scanned::Finding(row) => Some(row.session.as_str()),
        Scanned::Error(error) => error.session.as_deref(),
    }),
    column!("seq", Number, true, |row| finding(row).map(|row| row.seq)),
    column!("time", Text, true, |row| finding(row).map(|row| row.time.as_str())),
    column!("document", Text, true, |row| finding(row).map(|row| row.document.as_str())),
    column!("title", Text, true, |row| finding(row)?.title.as_deref()),
    column!("indicator", Text, true, |row| match row {
        Scanned::Finding(row) => Some(row.indicator.as_str()),
        Scanned::Error(error) => error.indicator.as_deref(),
    }),
    column!("description", Text, true, |row| finding(row)?.description.as_deref()),
    column!("severity", Text, true, |row| finding(row)?.severity.as_deref()),
    column!("protocol", Text, true, |row| finding(row).map(|row| row.protocol.as_str())),
    column!("surface", Text, true, |row| finding(row).map(|row| row.surface.as_str())),
    column!("direction", Text, true, |row| finding(row).map(|row| row.direction.as_str())),
    column!("sender", Text, true, |row| finding(row).map(|row| row.sender.as_str())),
    column!("actor", Text, true, |row| finding(row).map(|row| row.actor.as_str())),
    column!("path", Text, true, |row| finding(row).map(|row| row.path.as_str())),
    column!("start", Number, true, |row| finding(row)?.start.map(number)),
    column!("end", Number, true, |row| finding(row)?.end.map(number)),
    column!("text", Text, true, |row| finding(row)?.text.as_deref()),
    column!("needs_session", Truth, false, |row| finding(row).map(|row| row.needs_session)),
    column!("refused", Truth, true, |row| finding(row).map(|row| row.refused)),
    RowColumn { name: "from", values: ColumnValues::Origin, is_of_message: false },
    column!("line", Number, true, |row| finding(row)?.line.map(number)),
    column!("at", Number, false, |row| error(row)?.at),
    column!("reason", Text, true, |row| error(row).map(|error| error.reason.as_str())),
];

fn origin_fields() -> Fields {
    Fields::from(vec![
        Field::new("seq", DataType::UInt64, true),
        Field::new("path", DataType::Utf8, true),
        Field::new("start", DataType::UInt64, true),
        Field::new("end", DataType::UInt64, true),
        Field::new("encoding", DataType::Utf8, true),
    ])
}

impl RowColumn {
    fn field(&self) -> Field {
        let kind = match self.values {
            ColumnValues::Text(_) => DataType::Utf8,
            ColumnValues::Number(_) => DataType::UInt64,
            ColumnValues::Truth(_) => DataType::Boolean,
            ColumnValues::Origin => DataType::Struct(origin_fields()),
        };
        Field::new(self.name, kind, !matches!(self.name, "record" | "source"))
    }

    fn array(&self, rows: &[Scanned]) -> ArrayRef {
        match self.values {
            ColumnValues::Text(of) => Arc::new(rows.iter().map(of).collect::<StringArray>()),
            ColumnValues::Number(of) => Arc::new(rows.iter().map(of).collect::<UInt64Array>()),
            ColumnValues::Truth(of) => Arc::new(rows.iter().map(of).collect::<BooleanArray>()),
            ColumnValues::Origin => Arc::new(origins(rows)),
        }
    }
}

fn origins(rows: &[Scanned]) -> StructArray {
    let of = |row| -> Option<&FlowOrigin> { finding(row)?.from.as_ref() };
    let encoding = |row| {
        let encoding = serde_json::to_value(of(row)?.encoding).ok()?;
        encoding.as_str().map(str::to_owned)
    };
    let mut nulls = NullBufferBuilder::new(rows.len());
    for row in rows {
        nulls.append(of(row).is_some());
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(of(row)?.seq)).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(|row| Some(of(row)?.path.as_str())).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(of(row)?.start as u64)).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(|row| Some(of(row)?.end as u64)).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(encoding).collect::<StringArray>()),
    ];
    StructArray::new(origin_fields(), columns, nulls.finish())
}

/// The schema of all rows.
pub(crate) fn row_schema() -> SchemaRef {
    Arc::new(Schema::new(COLUMNS.iter().map(RowColumn::field).collect::<Vec<_>>()))
}

/// Some columns of rows.
pub(crate) fn row_batch(schema: &SchemaRef, rows: &[Scanned]) -> Result<RecordBatch> {
    let column = |field: &FieldRef| COLUMNS.iter().find(|column| column.name == field.name());
    let columns: Vec<_> =
        schema.fields().iter().filter_map(column).map(|column| column.array(rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// What a message that is looked at alone has: `error` where it cannot be read.
pub(crate) fn message_fields() -> Fields {
    let fields = COLUMNS.iter().filter(|column| column.is_of_message).map(RowColumn::field);
    fields
        .map(|field| if field.name() == "reason" { field.with_name("error") } else { field })
        .map(|field| field.with_nullable(true))
        .collect()
}

/// Lists of findings, one for each message. `counts` says how many of the rows are of each; `None` for what is no message.
pub(crate) fn message_lists(rows: &[Scanned], counts: &[Option<usize>]) -> Result<ListArray> {
    let fields = message_fields();
    let columns = COLUMNS.iter().filter(|column| column.is_of_message).map(|column| column.array(rows));
    let items = StructArray::try_new(fields.clone(), columns.collect(), None)?;
    let mut nulls = NullBufferBuilder::new(counts.len());
    for count in counts {
        nulls.append(count.is_some());
    }
    let offsets = OffsetBuffer::from_lengths(counts.iter().map(|count| count.unwrap_or_default()));
    let item = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
    Ok(ListArray::try_new(item, offsets, Arc::new(items) as Arc<dyn Array>, nulls.finish())?)
}

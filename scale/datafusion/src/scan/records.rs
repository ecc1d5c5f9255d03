//! Records of traces as rows: the columns of `sortie trace export --parquet`, with the file.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use datafusion::arrow::array::{
    ArrayRef, ListBuilder, RecordBatch, RecordBatchOptions, StringArray, StringBuilder,
    TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;
use sortie_trace::time::parse_time;
use sortie_trace::{Message, Record};

/// The schema of records.
pub(crate) fn record_schema() -> SchemaRef {
    let text = |name: &str, is_nullable: bool| Field::new(name, DataType::Utf8, is_nullable);
    let surface = Arc::new(Field::new_list_field(DataType::Utf8, true));
    Arc::new(Schema::new(vec![
        text("source", false),
        text("session", false),
        Field::new("seq", DataType::UInt64, true),
        Field::new("time", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        text("kind", true),
        text("protocol", true),
        text("surface", true),
        Field::new("surfaces", DataType::List(surface), false),
        text("direction", true),
        text("sender", true),
        text("actor", true),
        text("record", false),
    ]))
}

/// A record that becomes a row. A line that is no record has its text and nothing else.
#[derive(Debug)]
pub(crate) struct RecordRow {
    pub(crate) source: Arc<str>,
    pub(crate) session: Arc<str>,
    pub(crate) line: String,
    record: Option<Record>,
}

impl RecordRow {
    pub(crate) fn new(source: &Arc<str>, session: &Arc<str>, line: String) -> Self {
        let record = Record::from_line(&line).ok();
        Self { source: Arc::clone(source), session: Arc::clone(session), line, record }
    }

    fn message(&self) -> Option<&Message> {
        match &self.record {
            Some(Record::Message(message)) => Some(message),
            _ => None,
        }
    }

    fn seq(&self) -> Option<u64> {
        self.record.as_ref().filter(|record| !matches!(record, Record::Header(_))).map(Record::seq)
    }

    fn time(&self) -> Option<i64> {
        let time = parse_time(self.record.as_ref()?.time())?;
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).ok(),
            Err(before) => i64::try_from(before.duration().as_micros()).ok().map(|micros| -micros),
        }
    }

    /// A member of the record that is a word.
    fn word(&self, name: &str) -> Option<String> {
        let message = self.message()?;
        let word = match name {
            "direction" => serde_json::to_value(message.direction),
            "sender" => serde_json::to_value(message.sender),
            _ => serde_json::to_value(message.kind),
        };
        word.ok()?.as_str().map(str::to_owned)
    }
}

/// Some columns of records.
pub(crate) fn record_batch(schema: &SchemaRef, rows: &[RecordRow]) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| column(field.name(), rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn column(name: &str, rows: &[RecordRow]) -> ArrayRef {
    let text = |of: &dyn Fn(&RecordRow) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    match name {
        "source" => text(&|row| Some(row.source.to_string())),
        "session" => text(&|row| Some(row.session.to_string())),
        "record" => Arc::new(rows.iter().map(|row| Some(row.line.as_str())).collect::<StringArray>()),
        "seq" => Arc::new(rows.iter().map(RecordRow::seq).collect::<UInt64Array>()),
        "time" => {
            let times: TimestampMicrosecondArray = rows.iter().map(RecordRow::time).collect();
            Arc::new(times.with_timezone("UTC"))
        }
        "kind" => text(&|row| row.word("kind").or_else(|| Some(row.record.as_ref()?.name().to_owned()))),
        "protocol" => text(&|row| Some(row.message()?.protocol.clone())),
        "surface" => text(&|row| row.message()?.surfaces.first().cloned()),
        "surfaces" => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for row in rows {
                for surface in row.message().into_iter().flat_map(|message| &message.surfaces) {
                    lists.values().append_value(surface);
                }
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        "actor" => text(&|row| row.record.as_ref()?.actor().map(str::to_owned)),
        word => text(&|row| row.word(word)),
    }
}

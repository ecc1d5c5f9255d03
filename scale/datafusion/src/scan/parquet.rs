//! Lines of traces in Parquet files.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch, StringViewArray, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use datafusion::parquet::arrow::async_reader::{ParquetObjectReader, ParquetRecordBatchStreamBuilder};
use datafusion::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use datafusion::parquet::file::statistics::Statistics;
use futures::TryStreamExt as _;

/// The key in the metadata of a file whose row groups hold whole sessions, and its value.
const LAYOUT: (&str, &str) = ("sortie.traces", "1");
/// How much a row group may hold that has to be sorted, in bytes.
const MAX_GROUP: usize = 256 * 1024 * 1024;
/// How many rows are read at once.
const BATCH: usize = 4096;

/// The row groups of a file in parts of about so many bytes, none of which ends within a session. `None` where the file does not say that it
/// can be cut, or cannot be read.
pub(super) async fn whole_session_groups(
    mut reader: ParquetObjectReader,
    length: u64,
) -> Option<Vec<(Range<u64>, u64)>> {
    let metadata = ArrowReaderMetadata::load_async(&mut reader, ArrowReaderOptions::new()).await.ok()?;
    let metadata = metadata.metadata();
    if !has_whole_sessions(metadata) {
        return None;
    }
    let column =
        metadata.file_metadata().schema_descr().columns().iter().position(|own| own.name() == "session")?;
    let mut parts: Vec<(Range<u64>, u64)> = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    for (at, group) in metadata.row_groups().iter().enumerate() {
        let only = only_session(group, column);
        let bytes = u64::try_from(group.compressed_size()).unwrap_or_default();
        let goes_on = only.is_some() && only == last;
        match parts.last_mut() {
            Some(part) if goes_on || part.1 + bytes <= length / 4 => {
                part.0.end += 1;
                part.1 += bytes;
            }
            _ => parts.push((at as u64..at as u64 + 1, bytes)),
        }
        last = only;
    }
    Some(parts)
}

fn has_whole_sessions(metadata: &ParquetMetaData) -> bool {
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    pairs.into_iter().any(|pair| pair.key == LAYOUT.0 && pair.value.as_deref() == Some(LAYOUT.1))
}

/// The session of a row group that holds one alone.
fn only_session(group: &RowGroupMetaData, column: usize) -> Option<Vec<u8>> {
    match group.column(column).statistics() {
        Some(Statistics::ByteArray(bounds)) => {
            let (least, most) = (bounds.min_opt()?, bounds.max_opt()?);
            (least == most).then(|| least.data().to_vec())
        }
        _ => None,
    }
}

/// Rows of a row group, session by session.
pub(super) struct GroupRows {
    sessions: StringViewArray,
    records: StringViewArray,
    order: Vec<u32>,
}

impl GroupRows {
    /// Each session and line, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = |column: &'_ StringViewArray, at: usize| column.is_valid(at).then_some(at);
        self.order.iter().map(move |at| {
            let at = *at as usize;
            let session = text(&self.sessions, at).map_or("", |at| self.sessions.value(at));
            let record = text(&self.records, at).map_or("", |at| self.records.value(at));
            (session, record)
        })
    }
}

/// Reads row groups, one after the other.
pub(super) struct TraceGroups {
    reader: ParquetObjectReader,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    is_grouped: bool,
    groups: Range<usize>,
    /// Batches of a file whose rows are read in their order.
    stream: Option<datafusion::parquet::arrow::async_reader::ParquetRecordBatchStream<ParquetObjectReader>>,
}

impl TraceGroups {
    /// `None` where the file has other columns.
    pub(super) async fn open(
        mut reader: ParquetObjectReader,
        groups: Option<Range<u64>>,
    ) -> Result<Option<Self>> {
        let metadata = ArrowReaderMetadata::load_async(&mut reader, ArrowReaderOptions::new()).await?;
        let schema = metadata.schema();
        let is_text = |name: &str| {
            let field = schema.field_with_name(name);
            field.is_ok_and(|field| {
                matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
            })
        };
        if !is_text("session") || !is_text("record") {
            return Ok(None);
        }
        let descriptor = metadata.metadata().file_metadata().schema_descr();
        let mask = ProjectionMask::columns(descriptor, ["session", "seq", "record"]);
        let is_grouped = has_whole_sessions(metadata.metadata()) && schema.field_with_name("seq").is_ok();
        let count = metadata.metadata().num_row_groups();
        let place = |at: u64| usize::try_from(at).unwrap_or(count).min(count);
        let groups = groups.map_or(0..count, |groups| place(groups.start)..place(groups.end));
        Ok(Some(Self { reader, metadata, mask, is_grouped, groups, stream: None }))
    }

    /// The next rows, and how many bytes were read for them.
    pub(super) async fn next(&mut self) -> Result<Option<(GroupRows, usize)>> {
        if !self.is_grouped {
            return self.next_batch().await;
        }
        let Some(group) = self.groups.next() else { return Ok(None) };
        let about = self.metadata.metadata().row_group(group);
        let whole = usize::try_from(about.total_byte_size()).unwrap_or(usize::MAX);
        let bytes = self.read_size(about);
        if whole > MAX_GROUP {
            let reason = format!("row group {group} takes {whole} bytes; no more than {MAX_GROUP} are held");
            return Err(DataFusionError::Execution(reason));
        }
        let batches: Vec<RecordBatch> = self.stream(vec![group])?.try_collect().await?;
        let Some(first) = batches.first() else { return Ok(Some((rows_of(None, true)?, bytes))) };
        let all = datafusion::arrow::compute::concat_batches(&first.schema(), &batches)?;
        Ok(Some((rows_of(Some(&all), true)?, bytes)))
    }

    async fn next_batch(&mut self) -> Result<Option<(GroupRows, usize)>> {
        if self.stream.is_none() {
            self.stream = Some(self.stream(self.groups.clone().collect())?);
        }
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let Some(batch) = stream.try_next().await? else { return Ok(None) };
        let bytes = batch.get_array_memory_size();
        Ok(Some((rows_of(Some(&batch), false)?, bytes)))
    }

    fn stream(
        &self,
        groups: Vec<usize>,
    ) -> Result<datafusion::parquet::arrow::async_reader::ParquetRecordBatchStream<ParquetObjectReader>> {
        let builder =
            ParquetRecordBatchStreamBuilder::new_with_metadata(self.reader.clone(), self.metadata.clone());
        Ok(builder
            .with_row_groups(groups)
            .with_projection(self.mask.clone())
            .with_batch_size(BATCH)
            .build()?)
    }

    /// How much of a row group is read, in bytes.
    fn read_size(&self, group: &RowGroupMetaData) -> usize {
        let columns = group.columns().iter().enumerate();
        let read = columns.filter(|(at, _)| self.mask.leaf_included(*at));
        read.map(|(_, column)| usize::try_from(column.compressed_size()).unwrap_or_default()).sum()
    }
}

/// Rows in the order of their sessions, where they have to be sorted.
fn rows_of(batch: Option<&RecordBatch>, is_grouped: bool) -> Result<GroupRows> {
    let Some(batch) = batch else {
        let empty = StringViewArray::from(Vec::<&str>::new());
        return Ok(GroupRows { sessions: empty.clone(), records: empty, order: Vec::new() });
    };
    let texts = |name: &str| -> Result<StringViewArray> {
        let column: Option<&ArrayRef> = batch.column_by_name(name);
        let column =
            column.ok_or_else(|| DataFusionError::Execution(format!("there is no column `{name}`")))?;
        Ok(cast(column, &DataType::Utf8View)?.as_string_view().clone())
    };
    let (sessions, records) = (texts("session")?, texts("record")?);
    let mut order: Vec<u32> = (0..u32::try_from(records.len()).unwrap_or(u32::MAX)).collect();
    if is_grouped {
        let seqs = batch.column_by_name("seq").map(|column| cast(column, &DataType::UInt64)).transpose()?;
        let seqs: Option<&UInt64Array> =
            seqs.as_ref().map(datafusion::arrow::array::AsArray::as_primitive::<UInt64Type>);
        let mut places: HashMap<&str, u32> = HashMap::new();
        let mut keys = Vec::with_capacity(order.len());
        for at in 0..records.len() {
            let next = u32::try_from(places.len()).unwrap_or(u32::MAX);
            let place = *places.entry(sessions.value(at)).or_insert(next);
            keys.push((place, seqs.filter(|seqs| seqs.is_valid(at)).map(|seqs| seqs.value(at))));
        }
        order.sort_by_key(|at| keys[*at as usize]);
    }
    Ok(GroupRows { sessions, records, order })
}

/// What reads a file.
pub(super) fn reader_of(
    store: &Arc<dyn object_store::ObjectStore>,
    path: object_store::path::Path,
    size: u64,
) -> ParquetObjectReader {
    ParquetObjectReader::new(Arc::clone(store), path).with_file_size(size)
}

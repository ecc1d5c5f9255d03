//! The plan that reads parts of files and gives rows.
//!
//! The parts are rows too: a scan in memory gives each partition its parts, and [`TraceScan`] reads what its input names. A scheduler that gives each
//! task some of the partitions has to narrow the leaves of a plan. Ballista does this for the leaves of `DataFusion`, and cannot for others: a leaf
//! of our own would give every task the parts of the first partitions.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray as _, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::parquet::errors::ParquetError;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _, Partitioning, PhysicalExpr,
    PlanProperties,
};
use futures::TryStreamExt as _;
use object_store::ObjectStore;
use serde::{Deserialize, Serialize};
use sortie_scan::{MAX_LINE_BYTES, RowError, Scanned, SessionScanner, is_header, session_name};
use tokio::sync::mpsc::Sender;

use super::files::{FileKind, ScanPart};
use super::lines::{LineStream, bytes_of};
use super::parquet::{TraceGroups, reader_of};
use super::records::{RecordRow, record_batch};
use super::table::TraceTableKind;
use crate::rows::row_batch;
use crate::rulesets::{LoadedRuleset, RulesetName};

/// How many rows are handed on at once.
const BATCH: usize = 1024;
/// How much text of records is handed on at once, in bytes.
const BATCH_BYTES: usize = 1024 * 1024;

/// Reads traces: each of its partitions reads whole sessions.
#[derive(Debug)]
pub struct TraceScan {
    spec: TraceScanSpec,
    /// Gives the parts to read.
    parts: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What another machine needs, besides the parts, to read the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TraceScanSpec {
    kind: TraceTableKind,
    store: String,
    ruleset: Option<RulesetName>,
    /// The columns that are asked for.
    projection: Option<Vec<usize>>,
}

impl TraceScan {
    pub(crate) fn new(
        kind: TraceTableKind,
        store: &ObjectStoreUrl,
        ruleset: Option<RulesetName>,
        projection: Option<Vec<usize>>,
        partitions: &[Vec<ScanPart>],
    ) -> Result<Self> {
        let spec = TraceScanSpec { kind, store: store.to_string(), ruleset, projection };
        Self::over(spec, part_rows(partitions)?)
    }

    fn over(spec: TraceScanSpec, parts: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let schema = match &spec.projection {
            Some(columns) => Arc::new(spec.kind.schema().project(columns)?),
            None => spec.kind.schema(),
        };
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(parts.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Ok(Self { spec, parts, schema, properties, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// As bytes that [`decode`](Self::decode) reads on another machine. Its input travels beside it.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.spec).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    /// From the bytes of [`encode`](Self::encode), and its input.
    pub fn decode(bytes: &[u8], inputs: &[Arc<dyn ExecutionPlan>]) -> Result<Self> {
        let [parts] = inputs else { return internal_err!("TraceScan has one input, not {}", inputs.len()) };
        let spec = serde_json::from_slice(bytes);
        Self::over(spec.map_err(|error| DataFusionError::External(Box::new(error)))?, Arc::clone(parts))
    }
}

/// A plan that gives the parts of each partition, one a row.
fn part_rows(partitions: &[Vec<ScanPart>]) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = Arc::new(Schema::new(vec![Field::new("part", DataType::Utf8, false)]));
    let rows = |parts: &Vec<ScanPart>| -> Result<Vec<RecordBatch>> {
        let texts: Result<Vec<_>, _> = parts.iter().map(serde_json::to_string).collect();
        let texts = texts.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let column = Arc::new(StringArray::from_iter_values(texts));
        Ok(vec![RecordBatch::try_new(Arc::clone(&schema), vec![column])?])
    };
    let rows: Vec<_> = partitions.iter().map(rows).collect::<Result<_>>()?;
    Ok(MemorySourceConfig::try_new_exec(&rows, schema, None)?)
}

/// The parts that rows name.
fn parts_of(rows: &RecordBatch) -> Result<Vec<ScanPart>> {
    let texts = rows.columns().first().and_then(|column| column.as_string_opt::<i32>());
    let Some(texts) = texts else { return internal_err!("the input of TraceScan has no parts") };
    let parts: Result<_, _> = texts.iter().flatten().map(serde_json::from_str).collect();
    parts.map_err(|error| DataFusionError::External(Box::new(error)))
}

impl DisplayAs for TraceScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceScanSpec { kind, ruleset, .. } = &self.spec;
        write!(f, "TraceScan: function={}", kind.function_name())?;
        if let Some(ruleset) = ruleset {
            write!(f, ", ruleset={}", ruleset.name)?;
        }
        Ok(())
    }
}

impl ExecutionPlan for TraceScan {
    fn name(&self) -> &'static str {
        "TraceScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.parts]
    }

    /// Who planned the parts has shared them out.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [parts] = &children[..] else {
            return internal_err!("TraceScan has one input, not {}", children.len());
        };
        Ok(Arc::new(Self::over(self.spec.clone(), Arc::clone(parts))?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut parts = self.parts.execute(partition, Arc::clone(&context))?;
        let store = ObjectStoreUrl::parse(&self.spec.store)?;
        let store = context.runtime_env().object_store(store)?;
        let ruleset = self.spec.ruleset.as_ref().map(RulesetName::load).transpose()?;
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let output = PartOutput {
            schema: Arc::clone(&self.schema),
            sender: stream.tx(),
            rows: MetricBuilder::new(&self.metrics).output_rows(partition),
        };
        let bytes = MetricBuilder::new(&self.metrics).counter("bytes_scanned", partition);
        stream.spawn(async move {
            while let Some(rows) = parts.try_next().await? {
                for part in parts_of(&rows)? {
                    let sink = PartSink::new(ruleset.as_deref(), &part.name);
                    let mut reader = PartReader {
                        store: Arc::clone(&store),
                        part,
                        sink,
                        output: output.clone(),
                        bytes: bytes.clone(),
                    };
                    if !reader.read().await? {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        Ok(stream.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Where rows go.
#[derive(Clone)]
struct PartOutput {
    schema: SchemaRef,
    sender: Sender<Result<RecordBatch>>,
    rows: Count,
}

/// What becomes of lines.
enum PartSink {
    Findings { scanner: Box<SessionScanner>, rows: Vec<Scanned> },
    Records { source: Arc<str>, session: Arc<str>, rows: Vec<RecordRow>, bytes: usize },
}

impl PartSink {
    fn new(ruleset: Option<&LoadedRuleset>, source: &str) -> Self {
        match ruleset {
            Some(ruleset) => Self::Findings {
                scanner: Box::new(SessionScanner::new(Arc::clone(ruleset.rules()), source)),
                rows: Vec::new(),
            },
            None => {
                Self::Records { source: source.into(), session: source.into(), rows: Vec::new(), bytes: 0 }
            }
        }
    }

    /// A line of a trace.
    fn line(&mut self, at: u64, line: &[u8]) {
        match self {
            Self::Findings { scanner, rows } => scanner.line(at, line, rows),
            Self::Records { source, session, .. } => {
                if is_header(line) {
                    *session = session_name(source, at).into();
                }
                self.record(line);
            }
        }
    }

    /// A line of a session that is named elsewhere.
    fn line_of(&mut self, name: &str, at: u64, line: &str) {
        match self {
            Self::Findings { scanner, rows } => scanner.line_of(name, at, line.as_bytes(), rows),
            Self::Records { session, .. } => {
                if **session != *name {
                    *session = name.into();
                }
                self.record(line.as_bytes());
            }
        }
    }

    fn record(&mut self, line: &[u8]) {
        if let Self::Records { source, session, rows, bytes } = self {
            let line = line.trim_ascii_end();
            if !line.is_empty() {
                *bytes += line.len();
                rows.push(RecordRow::new(source, session, String::from_utf8_lossy(line).into_owned()));
            }
        }
    }

    /// Something that cannot be read. A table of records has no room for it.
    fn error(&mut self, source: &str, at: Option<u64>, reason: String) -> Result<()> {
        match self {
            Self::Findings { scanner, rows } => {
                let session = at.map(|_| scanner.session().to_owned());
                let source = source.to_owned();
                rows.push(Scanned::Error(RowError { source, session, at, indicator: None, reason }));
                Ok(())
            }
            Self::Records { .. } => Err(DataFusionError::Execution(format!("`{source}`: {reason}"))),
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Self::Findings { rows, .. } => rows.len() >= BATCH,
            Self::Records { rows, bytes, .. } => rows.len() >= BATCH * 8 || *bytes >= BATCH_BYTES,
        }
    }

    /// What there is, as a batch.
    fn batch(&mut self, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        match self {
            Self::Findings { rows, .. } => {
                let rows = std::mem::take(rows);
                (!rows.is_empty()).then(|| row_batch(schema, &rows)).transpose()
            }
            Self::Records { rows, bytes, .. } => {
                let rows = std::mem::take(rows);
                *bytes = 0;
                (!rows.is_empty()).then(|| record_batch(schema, &rows)).transpose()
            }
        }
    }
}

/// Reads one part.
struct PartReader {
    store: Arc<dyn ObjectStore>,
    part: ScanPart,
    sink: PartSink,
    output: PartOutput,
    bytes: Count,
}

impl PartReader {
    /// Says whether somebody takes more rows.
    async fn read(&mut self) -> Result<bool> {
        let read = match self.part.kind {
            FileKind::Parquet => self.read_groups().await,
            FileKind::Lines | FileKind::Gzip | FileKind::Zstd => self.read_lines().await,
        };
        match read {
            Ok(true) => self.flush().await,
            Ok(false) => Ok(false),
            // A file that is damaged is one row, and says nothing about the others.
            Err(error) if is_of_file(&error) => {
                let reason = error.strip_backtrace().chars().take(200).collect();
                self.sink.error(&self.part.name, None, reason)?;
                self.flush().await
            }
            Err(error) => Err(error),
        }
    }

    async fn read_lines(&mut self) -> Result<bool> {
        let whole = 0..self.part.size;
        let range = self.part.range.clone().unwrap_or(whole);
        // A line begins at a position if the byte before it ends one.
        let start = range.start.saturating_sub(1);
        let bytes = bytes_of(
            Arc::clone(&self.store),
            self.part.path()?,
            start..self.part.size,
            range.end,
            self.part.kind,
        )?;
        let mut lines = LineStream::new(bytes, start);
        if range.start > 0 {
            lines.next_line().await?;
        }
        let end = if self.part.range.is_some() { range.end } else { u64::MAX };
        let mut is_begun = false;
        while let Some(line) = lines.next_line().await? {
            if line.at >= end || !is_begun {
                let is_header = line.is_whole && is_header(&line.bytes);
                if line.at >= end && (is_header || !is_begun) {
                    break;
                }
                if !is_begun && !is_header {
                    if line.at == 0 && !line.bytes.trim_ascii().is_empty() {
                        let reason = "it does not begin with the header of a trace; `sortie trace import` and `sortie trace export` convert other recordings";
                        self.sink.error(&self.part.name, None, reason.to_owned())?;
                    }
                    continue;
                }
                // Behind the end of the part, its last session goes on.
                is_begun = true;
            }
            self.bytes.add(line.bytes.len());
            if line.is_whole {
                self.sink.line(line.at, &line.bytes);
            } else {
                let reason = format!("the line is longer than {MAX_LINE_BYTES} bytes");
                self.sink.error(&self.part.name, Some(line.at), reason)?;
            }
            if self.sink.is_full() && !self.flush().await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn read_groups(&mut self) -> Result<bool> {
        let reader = reader_of(&self.store, self.part.path()?, self.part.size);
        let Some(mut groups) = TraceGroups::open(reader, self.part.range.clone()).await? else {
            let reason =
                "it has no columns `session` and `record`, as `sortie trace export --parquet` writes them";
            self.sink.error(&self.part.name, None, reason.to_owned())?;
            return Ok(true);
        };
        let mut at = 0;
        while let Some((rows, bytes)) = groups.next().await? {
            self.bytes.add(bytes);
            for (session, line) in rows.rows() {
                at += 1;
                self.sink.line_of(session, at, line);
                if self.sink.is_full() && !self.flush().await? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Hands rows on, and says whether somebody takes more.
    async fn flush(&mut self) -> Result<bool> {
        let Some(batch) = self.sink.batch(&self.output.schema)? else {
            return Ok(!self.output.sender.is_closed());
        };
        self.output.rows.add(batch.num_rows());
        Ok(self.output.sender.send(Ok(batch)).await.is_ok())
    }
}

/// Whether the bytes of a file are wrong, and not the way to it.
fn is_of_file(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::ParquetError(error) => !matches!(**error, ParquetError::External(_)),
        DataFusionError::ArrowError(..) | DataFusionError::Execution(_) => true,
        DataFusionError::IoError(error) => {
            matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
        }
        _ => false,
    }
}

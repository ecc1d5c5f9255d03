//! `sortie-sql`

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{DataFrame, SessionContext};
use futures::TryStreamExt as _;
use sortie_cluster::session::{cluster_session, local_session};

const EXAMPLES: &str = "\
Examples:
  All findings of the library in a folder of traces:
    $ sortie-sql \"SELECT * FROM oatf_scan('traces', 'library')\"

  Findings of one surface and one day, from Parquet:
    $ sortie-sql \"SELECT session, unnest(oatf_findings('library', record)) FROM 'traces.parquet'
        WHERE protocol = 'mcp' AND surface = 'tools/call' AND time >= '2026-11-01T00:00:00Z'\"

  Verdicts of a document over sessions, on a cluster:
    $ sortie-sql --cluster df://127.0.0.1:50050 \"SELECT session, oatf_verdict('library', 'SRT-001', record ORDER BY seq)
        FROM oatf_records('/data/traces') GROUP BY session\"

Exit codes:
  0  all queries ran
  2  wrong usage, or a query that failed";

/// Run SQL over traces, with functions that find attacks in them.
///
/// Files are tables: write their path in single quotes. `oatf_scan(URL, RULESET)` is a table of findings, `oatf_records(URL)` a table of records.
#[derive(Debug, Parser)]
#[command(version, after_long_help = EXAMPLES)]
struct Arguments {
    /// Queries, one after the other
    #[arg(required = true, value_name = "SQL")]
    queries: Vec<String>,

    /// Run on the cluster of this scheduler, such as <df://127.0.0.1:50050>
    #[arg(long, value_name = "URL")]
    cluster: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Jsonl)]
    format: OutputFormat,

    /// Number of parts that a query is split into. Default: one for each core; on a cluster, 16
    #[arg(long, value_name = "N")]
    partitions: Option<NonZeroUsize>,

    /// Print how long each query took and how many bytes it read, to standard error
    #[arg(long)]
    metrics: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// One object a line
    Jsonl,
    /// A table
    Table,
}

/// How often a query is run on a cluster that lost results before they were fetched.
const ATTEMPTS: usize = 3;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Deep expressions need a deep stack to be planned.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(16 * 1024 * 1024).build();
    let done = runtime.map_err(DataFusionError::IoError).and_then(|runtime| runtime.block_on(run(arguments)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has enough.
        Err(DataFusionError::IoError(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", error.strip_backtrace());
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let partitions = arguments.partitions.map(NonZeroUsize::get);
    let session = match &arguments.cluster {
        Some(url) => cluster_session(url, partitions).await?,
        None => local_session(partitions)?,
    };
    for query in &arguments.queries {
        let started = Instant::now();
        let read = if arguments.cluster.is_some() {
            let batches = collect_with_retries(&session, query).await?;
            let mut output = Output::new(arguments.format);
            output.write(&batches)?;
            output.finish()?;
            None
        } else {
            Some(stream(session.sql(query).await?, arguments.format).await?)
        };
        if arguments.metrics {
            let read = read.map(|bytes| format!(", {bytes} bytes read")).unwrap_or_default();
            eprintln!("{:.3} s{read}", started.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// Runs a query here, and says how many bytes of files were read.
async fn stream(query: DataFrame, format: OutputFormat) -> Result<usize> {
    let context = Arc::new(query.task_ctx());
    let plan = query.create_physical_plan().await?;
    let mut batches = execute_stream(Arc::clone(&plan), context)?;
    let mut output = Output::new(format);
    while let Some(batch) = batches.try_next().await? {
        output.write(&[batch])?;
    }
    output.finish()?;
    Ok(bytes_read(&plan))
}

fn bytes_read(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name("bytes_scanned"));
    let own = own.map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(bytes_read).sum::<usize>()
}

/// Runs a query on a cluster. An executor that is lost after the query, with results that nobody has fetched, costs another run.
async fn collect_with_retries(session: &SessionContext, query: &str) -> Result<Vec<RecordBatch>> {
    let mut attempt = 1;
    loop {
        let query = session.sql(query).await?;
        match query.collect().await {
            Err(error) if attempt < ATTEMPTS && is_of_network(&error) => {
                eprintln!("note: {}; running the query again", error.strip_backtrace());
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// Whether results could not be fetched.
fn is_of_network(error: &DataFusionError) -> bool {
    let text = error.to_string();
    ["FetchFailed", "fetch", "connect", "transport", "Flight"].iter().any(|word| text.contains(word))
}

/// Batches, written as they come.
struct Output {
    format: OutputFormat,
    /// Those of a table, whose columns are as wide as the widest.
    held: Vec<RecordBatch>,
}

impl Output {
    fn new(format: OutputFormat) -> Self {
        Self { format, held: Vec::new() }
    }

    fn write(&mut self, batches: &[RecordBatch]) -> Result<()> {
        match self.format {
            OutputFormat::Table => self.held.extend_from_slice(batches),
            OutputFormat::Jsonl => {
                let mut lines = Vec::new();
                let mut writer = LineDelimitedWriter::new(&mut lines);
                writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
                writer.finish()?;
                io::stdout().lock().write_all(&lines)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        let mut out = io::stdout().lock();
        if self.format == OutputFormat::Table {
            writeln!(out, "{}", pretty_format_batches(&self.held)?)?;
        }
        Ok(out.flush()?)
    }
}
